// alone: a whole view
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { expect, it, vi } from 'vitest';

import { makeCommands } from '../testing/commands';
import { Stack } from '../tokens';
import { StacksView } from './view';

it('keeps the stacks of a cluster that has ended, and asks its ranks no more', async () => {
  const changed = new Signal<object, void>({});
  const stack = {
    rank: 0,
    text: null,
    error: null,
    frames: [
      {
        where: {
          notebook: null,
          cell: '[2]',
          cell_id: null,
          cell_kind: 'cell',
          called_from: null,
          file: null,
          function: 'rest',
          line: 4
        },
        source: '    time.sleep(600)',
        library: false
      }
    ]
  } satisfies Stack;
  let ended = false;
  const ask = vi
    .fn<() => Promise<readonly Stack[]>>()
    .mockResolvedValueOnce([stack])
    .mockRejectedValue(new Error('There is no cluster "554a93919bb7".'));
  const view = new StacksView({
    of: { kind: 'cluster', id: '554a93919bb7', name: 'local-3' },
    ask,
    verdict: () => null,
    ended: () => ended,
    changed,
    copy: () => undefined,
    commands: makeCommands(),
    trans: nullTranslator.load('dtrain_lab')
  });
  view.ask(null);
  Widget.attach(view, document.body);
  MessageLoop.flush();
  const refresh = (): HTMLButtonElement =>
    [...view.node.querySelectorAll('button')].find(
      button => button.textContent === 'Refresh'
    )!;
  await vi.waitFor(() => expect(view.node.textContent).toContain('rest'));
  expect(refresh().getAttribute('aria-disabled')).toBeNull();

  // pressed after its end, before the page has heard of it
  refresh().click();
  await vi.waitFor(() => expect(view.node.textContent).toContain('Try again'));
  expect(view.node.textContent).toContain('rest');

  ended = true;
  changed.emit();
  await vi.waitFor(() =>
    expect(view.node.textContent).toContain('local-3 has ended.')
  );
  expect(view.node.textContent).toContain('rest');
  expect(view.node.textContent).not.toContain('554a93919bb7');
  expect(refresh().getAttribute('aria-disabled')).toBe('true');
  expect(refresh().title).toBe('local-3 has ended.');
  view.dispose();
});
