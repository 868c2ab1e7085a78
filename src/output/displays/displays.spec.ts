import { CodeCell } from '@jupyterlab/cells';
import { Widget } from '@lumino/widgets';
import { expect, it } from 'vitest';

import { markDisplays } from './displays';
import { KernelFate } from './widgetKernels';
import { notesOfCopy } from './widgetNotes';
import { NOTHING } from '../lines/omitted';
import { ICellOutput } from '../runs/cellOutput';

type Marked = ReturnType<typeof markDisplays>;

/** Marks widgets of rank 1 with this content; `has`: whether its process still runs. */
function mark(
  contents: readonly string[],
  has: boolean,
  kind: ICellOutput['kinds'][number] = 'widget',
  kernel: KernelFate = 'here'
): [Element, Marked] {
  const widgets = contents.map(html => {
    const widget = new Widget();
    const lacks = html === GONE ? ' jupyter-widgets' : '';
    widget.node.innerHTML = `<div class="jp-OutputArea-output${lacks}">${html}</div>`;
    return widget;
  });
  const node = document.createElement('div');
  node.append(...widgets.map(w => w.node));
  const output: ICellOutput = {
    lines: [],
    left: NOTHING,
    area: [],
    failure: null,
    ranks: [1],
    kinds: widgets.map(() => kind),
    places: widgets.map(() => 1),
    parts: widgets.map(() => 0)
  };
  const area = { widgets, node } as unknown as CodeCell['outputArea'];
  const ended = new Set(has ? [] : [1]);
  return [
    node,
    markDisplays(area, output, 'together', [0, 1], true, ended, () => kernel)
  ];
}

const NOTHING_STILL = { dead: [], disconnected: [], noKernel: [] };
/** What ipywidgets shows of a widget whose model it does not find. */
const GONE = 'Error displaying widget: model not found';
const SLIDER =
  '<div class="jupyter-widgets widget-inline-hbox widget-slider"><i role="slider"></i></div>';
const BUTTON = '<button class="jupyter-widgets jupyter-button widget-button">';
const BAR =
  '<div class="jupyter-widgets widget-inline-hbox widget-hprogress"><i></i></div>';
const TABLE =
  '<div class="jupyter-widgets widget-inline-hbox widget-html"><button id="sort"></button></div>';
const FIGURE =
  '<div class="jupyter-widgets bqplot"><button id="zoom"></button></div>';
const box = (...parts: string[]): string =>
  `<div class="jupyter-widgets widget-container widget-box">${parts.join('')}</div>`;

it("disables ipywidgets' own controls of an ended rank, and no toolbar, table or tab around them", () => {
  const all = [box(SLIDER, BAR, TABLE, FIGURE), BUTTON];
  const [node, { dead, unloaded }] = mark(all, false);
  const inert = [...node.querySelectorAll('[inert]')];
  expect(inert.map(e => e.className.split(' ').pop())).toEqual([
    'widget-slider',
    'widget-button'
  ]);
  expect([dead, unloaded]).toEqual([[1], []]);
  const [alive, marked] = mark(all, true);
  expect(alive.querySelector('[inert]')).toBeNull();
  expect(marked.dead).toEqual([]);
  expect(mark([box(FIGURE, TABLE), BAR], false)[1].dead).toEqual([]);
});

it('disables controls that have lost their kernel although their rank is alive', () => {
  const lost = SLIDER.replace('widget-slider', 'jupyter-widgets-disconnected');
  const [node, marked] = mark([box(lost, BAR), BUTTON], true);
  expect([marked.dead, marked.disconnected]).toEqual([[], [1]]);
  const inert = [...node.querySelectorAll('[inert]')];
  expect(inert.map(e => e.className.split(' ').pop())).toEqual([
    'jupyter-widgets-disconnected'
  ]);
  expect(node.querySelectorAll('[data-dtrain-disabled]')).toHaveLength(1);
  // if its process has ended, too, that is the reason
  const [, ended] = mark([lost], false);
  expect([ended.dead, ended.disconnected]).toEqual([[1], []]);
  expect(mark([SLIDER], true)[1].disconnected).toEqual([]);
});

it('says of labels and bars that they no longer change, and shows no icon of a lost kernel', () => {
  const cut = (html: string): string =>
    html.replace(
      'jupyter-widgets ',
      'jupyter-widgets jupyter-widgets-disconnected '
    );
  const label = '<div class="jupyter-widgets widget-label">waits</div>';
  const bar = (width: string, kind: string): string =>
    box(
      '<div class="jupyter-widgets widget-hprogress">' +
        `<div class="progress-bar ${kind}" style="width: ${width}; height: 100%"></div></div>`,
      label
    );
  const running = bar('40%', '');
  for (const lost of [label, running]) {
    const [node, { still, disconnected }] = mark([cut(lost)], true);
    expect(still).toEqual({ dead: [], disconnected: [1], noKernel: [] });
    expect(disconnected).toEqual([]);
    expect(node.querySelector('[data-dtrain-disabled]')).not.toBeNull();
    const [dead, ended] = mark([lost], false);
    expect(ended.still).toEqual({ dead: [1], disconnected: [], noKernel: [] });
    expect(dead.querySelector('[data-dtrain-still]')).not.toBeNull();
    expect(mark([lost], true)[1].still).toEqual(NOTHING_STILL);
  }
  // what has ended by itself is as static as text, but has no icon, either
  for (const whole of [bar('100%', ''), bar('40%', 'progress-bar-danger')]) {
    const [node, { still }] = mark([cut(whole)], true);
    expect(still).toEqual(NOTHING_STILL);
    expect(node.querySelector('[data-dtrain-disabled]')).not.toBeNull();
  }
});

it('hides the empty line with which rich ends a progress bar', () => {
  const texts = ['<pre></pre>', '<pre>rank 1</pre>', '<img>'];
  const [node] = mark(texts, true, 'table');
  expect(
    [...node.children].map(e => e.hasAttribute('data-dtrain-hidden'))
  ).toEqual([true, false, false]);
});

it('tells a widget that was never loaded from one that is disabled', () => {
  const [node, { dead, unloaded }] = mark(['Loading widget...'], false);
  expect([dead, unloaded]).toEqual([[], [1]]);
  expect(node.querySelector('[data-dtrain-hidden]')).not.toBeNull();
  expect(mark(['Loading widget...'], true)[1].unloaded).toEqual([]);
  // in a copy of a notebook, the rank's process may be alive
  const { gone, unloaded: ofCopy } = notesOfCopy(
    mark(['Loading widget...'], false)[1]
  );
  expect([gone, ofCopy]).toEqual([1, []]);
  const slider = notesOfCopy(mark([SLIDER], false)[1]);
  expect([slider.dead, slider.disconnected]).toEqual([[], [1]]);
});

it('names the rank whose widget is gone with its process, as it does not return by itself', () => {
  const [, ended] = mark([GONE], false);
  expect([ended.gone, ended.unloaded]).toEqual([0, [1]]);
  const [, alive] = mark([GONE], true);
  expect([alive.gone, alive.unloaded]).toEqual([1, []]);
});

it('disables the widgets of a notebook whose kernel is gone or another one, which ipywidgets does not mark', () => {
  const label = '<div class="jupyter-widgets widget-label">waits</div>';
  const [node, none] = mark([SLIDER], true, 'widget', 'ended');
  expect(node.querySelector('.widget-slider')?.hasAttribute('inert')).toBe(
    true
  );
  expect([none.noKernel, none.dead, none.disconnected]).toEqual([[1], [], []]);
  expect(mark([label], true, 'widget', 'ended')[1].still.noKernel).toEqual([1]);
  const [, other] = mark([SLIDER], true, 'widget', 'changed');
  expect([other.noKernel, other.disconnected]).toEqual([[], [1]]);
  // if its process has ended, too, that is the reason; in a copy, nobody knows
  const [, ended] = mark([SLIDER], false, 'widget', 'ended');
  expect([ended.noKernel, ended.dead]).toEqual([[], [1]]);
  expect(notesOfCopy(none).noKernel).toEqual([1]);
  // no kernel will load it any more
  const [, loading] = mark(['Loading widget...'], true, 'widget', 'ended');
  expect([loading.gone, loading.unloaded]).toEqual([1, []]);
});
