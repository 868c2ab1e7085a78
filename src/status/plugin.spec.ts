import { JupyterFrontEnd } from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { CommandRegistry } from '@lumino/commands';
import { Widget } from '@lumino/widgets';
import { expect, it, vi } from 'vitest';

import { LiveState } from '../cluster/model/liveState';
import { Selection } from '../cluster/model/selection';
import { KernelRecords } from '../locations/kernelRecords';
import { makeCluster, makeFrame, makeVerdict } from '../testing/clusters';
import { makeLiveState } from '../testing/liveState';
import { statusPlugin } from './plugin';

// its notebooks need a browser's layout; the plugin reads no notebook here
vi.mock('@jupyterlab/notebook', () => ({ INotebookTracker: {} }));

function activate(): {
  model: LiveState;
  selection: Selection;
  item: IStatusBar.IItem;
} {
  const model = makeLiveState();
  const selection = new Selection(model);
  const app = {
    commands: new CommandRegistry(),
    shell: { widgets: () => [] }
  } as unknown as JupyterFrontEnd;
  const registerStatusItem = vi.fn();
  const bar = { registerStatusItem } as unknown as IStatusBar;
  void statusPlugin.activate(
    app,
    model,
    selection,
    new KernelRecords(),
    bar,
    null,
    null,
    null
  );
  return { model, selection, item: registerStatusItem.mock.calls[0][1] };
}

it('is shown once the server has said whether there is a cluster', () => {
  const { model, item } = activate();
  const told = vi.fn();
  item.activeStateChanged?.connect(told);
  expect(item.isActive?.()).toBe(false);
  model.receive(makeFrame([]));
  model.receive(makeFrame([]));
  expect(item.isActive?.()).toBe(true);
  expect(told).toHaveBeenCalledOnce();
});

it('follows nothing any more once its item is disposed of', () => {
  const { model, selection, item } = activate();
  const widget: Widget = item.item;
  const update = vi.spyOn(widget, 'update');
  selection.changed.emit();
  model.changed.emit();
  const updates = update.mock.calls.length;
  expect(updates).toBeGreaterThanOrEqual(2);
  widget.dispose();
  selection.changed.emit();
  model.changed.emit();
  expect(update).toHaveBeenCalledTimes(updates);
});

it('has its text in full in its name and its tooltip: the bar may have too little room for it', async () => {
  const { metrics } = makeCluster();
  const verdict = makeVerdict({ code: 'mismatch', kind: 'mismatch' });
  const text = 'Rank 1 called broadcast where 1 rank called all_reduce';
  const stuck = makeCluster({
    metrics: { ...metrics, verdicts: [{ ...verdict, text: `${text}.` }] }
  });
  const { model, item } = activate();
  const widget: Widget = item.item;
  Widget.attach(widget, document.body);
  model.receive(makeFrame([stuck]));
  await vi.waitFor(() => {
    const button = document.querySelector('.jp-DtrainStatus button');
    expect(button?.getAttribute('aria-label')).toContain(text);
    expect(button?.getAttribute('title')).toContain(`${text}, 14\u00a0s\n`);
    // this front end has no panel
    expect(button?.getAttribute('title')).toContain('panel is not available');
    expect(button?.getAttribute('aria-disabled')).toBe('true');
  });
  widget.dispose();
});
