import { expect, it } from 'vitest';

import { nullTranslator } from '@jupyterlab/translation';

import { makeDebugView, makePoint } from '../../testing/debug';
import { DebugView, RankView } from './model';
import {
  byPlace,
  doneIn,
  glyphOf,
  ICellLookup,
  isCell,
  placeOf,
  runningText,
  sentence,
  whoseVariables
} from './texts';

const trans = nullTranslator.load('');
const CELL = '/tmp/ipykernel_12/345.py';
const none = new Set<number>();
const cells: ICellLookup = {
  nameOfRanks: path => (path === CELL ? 'cell [7]' : path),
  ranksOf: path => (path === CELL ? [0, 1] : null)
};

function rank(number: number, more: Partial<RankView> = {}): RankView {
  return {
    rank: number,
    phase: 'paused',
    attached: true,
    reason: '',
    text: '',
    failed: false,
    place: { file: CELL, line: 6, function: 'step' },
    operation: null,
    ...more
  };
}

function view(ranks: RankView[], more: Partial<DebugView> = {}): DebugView {
  return makeDebugView({ ranks, ...more });
}

it('says where a rank is in a few letters', () => {
  const waits = { name: 'all_reduce', sequence: 4, shape: [2], ranks: [0, 1] };
  expect(placeOf(rank(0), false, cells, none, trans)).toBe(
    'cell [7], line\u00a06'
  );
  const file = { file: '/home/me/model.py', line: 42, function: 'f' };
  expect(placeOf(rank(0, { place: file }), false, cells, none, trans)).toBe(
    'model.py, line\u00a042'
  );
  const waiting = rank(0, { phase: 'running', operation: waits });
  expect(placeOf(waiting, false, cells, none, trans)).toBe('waits');
  expect(glyphOf(waiting, false)).toBe('in collective');
  expect(
    placeOf(rank(0, { phase: 'running' }), false, cells, none, trans)
  ).toBe('runs');
  const gone = rank(0, { phase: 'gone', place: null });
  expect(placeOf(gone, false, cells, none, trans)).toBe('lost');
  expect(glyphOf(gone, false)).toBe('lost');
  // the whole cluster was stopped on purpose: none of its ranks counts as lost
  expect(placeOf(gone, true, cells, none, trans)).toBe('ended');
  expect(glyphOf(gone, true)).toBe('stopped');
  expect(
    placeOf(rank(0, { phase: 'idle', place: null }), false, cells, none, trans)
  ).toBe('idle');
});

it('says of a rank that has finished the cell in which others are that it has', () => {
  const idle = [1, 2].map(n => rank(n, { phase: 'idle', place: null }));
  const all = view([rank(0), ...idle]); // the cell was not sent to rank 2
  const done = doneIn(all, cells);
  const told = all.ranks.map(r => placeOf(r, false, cells, done, trans));
  expect(told).toEqual([
    'cell [7], line\u00a06',
    'has finished the cell',
    'idle'
  ]);
});

it('tells cells from files', () => {
  expect(isCell(CELL)).toBe(true);
  expect(isCell('/home/me/ipykernel_notes/model.py')).toBe(false);
});

it('groups many ranks by place, most first', () => {
  const other = { file: CELL, line: 9, function: 'step' };
  const ranks = [rank(0), rank(1, { place: other }), rank(2), rank(3)];
  expect(byPlace(view(ranks), cells, trans)).toEqual([
    { place: 'cell [7], line\u00a06', glyph: 'paused', ranks: [0, 2, 3] },
    { place: 'cell [7], line\u00a09', glyph: 'paused', ranks: [1] }
  ]);
});

it('tells a step first, and then that another rank is yet to pause', () => {
  const ranks = [rank(0, { phase: 'running' }), rank(1, { phase: 'running' })];
  const said = (more: Partial<DebugView>): string =>
    sentence(view(ranks, { code: 'stepping', ...more }), true, trans);
  expect(said({ stepping: [0, 1] })).toBe('Stepping ranks 0–1.');
  expect(said({ stepping: [1], pausing: [0] })).toBe(
    'Stepping rank 1. Pausing rank 0: it stops when its current call returns.'
  );
});

it('names the steps to a collective, and later that they take long', () => {
  const steps = { ranks: [1], waiting: [0, 2], name: 'barrier', late: false };
  const said = (more: Partial<typeof steps>): string => {
    const bringing = { ...steps, ...more };
    const shown = view([rank(0), rank(1)], { code: 'bringing', bringing });
    return sentence(shown, true, trans);
  };
  expect(said({})).toBe('Stepping rank 1 to barrier, where ranks 0, 2 wait.');
  expect(said({ ranks: [1, 2], waiting: [0], late: true })).toBe(
    'Ranks 1–2 have not come to barrier yet, where rank 0 waits. Pause ends the steps.'
  );
});

it('translates what it knows, and shows the rest as it is', () => {
  const both = [rank(0), rank(1)];
  expect(sentence(view(both), true, trans)).toBe('Paused on 2 ranks.');
  expect(
    sentence(view([rank(0), rank(1)], { code: 'ready' }), true, trans)
  ).toBe('Ready to debug 2 ranks.');
  const waits = [
    { ranks: [1], text: 'Rank 1 waits in all_reduce.', reachable: true }
  ];
  const apart = [rank(0), rank(1, { phase: 'running' })];
  expect(sentence(view(apart, { waits }), true, trans)).toBe(
    'Paused on 1 rank.'
  );
  const running = [rank(0, { phase: 'running' }), rank(1)];
  expect(sentence(view(running, { code: 'running' }), true, trans)).toBe(
    '1 rank runs.'
  );
  const points = [makePoint()];
  expect(
    sentence(view(running, { code: 'running', points }), true, trans)
  ).toBe('1 rank runs. No breakpoint has been reached yet.');
  expect(
    sentence(
      view(running, { code: 'running', points, reached: true }),
      true,
      trans
    )
  ).toBe('1 rank runs.');
  const off = view([], { code: 'off' });
  expect(sentence(off, false, trans)).toBe('The debugger is off.');
  expect(sentence(off, true, trans)).toBe(
    'No ranks yet: run a %%distributed cell.'
  );
  const refused = view([], {
    code: 'off',
    notes: ['b.ipynb is debugging these ranks.']
  });
  expect(sentence(refused, true, trans)).toBe(
    'The debugger is not attached to the ranks.'
  );
  const ended = view([], { code: 'off_ended' });
  expect(sentence(ended, false, trans)).toBe(
    'The job has ended. The debugger is off.'
  );
  expect(sentence(ended, false, trans, 'tune')).toBe(
    'Job tune has ended. The debugger is off.'
  );
  expect(sentence(ended, true, trans)).toBe(sentence(off, true, trans));
  const unwatched = view([], { code: 'off_unwatched' });
  expect(sentence(unwatched, false, trans)).toBe(
    'The job goes on, but its head has ended. The debugger is off.'
  );
});

it('names the error at which ranks have stopped', () => {
  const both = [rank(0), rank(1)];
  const said = (error: string, raised: number[]): string =>
    sentence(view(both, { error, raised }), true, trans);
  expect(said('ValueError: bad value 10', [0, 1])).toBe(
    'Paused on 2 ranks: ValueError: bad value 10.'
  );
  expect(said('ValueError: why?', [1])).toBe(
    'Paused on 2 ranks. Rank 1 raised ValueError: why?'
  );
  const more = { error: 'ValueError: 1', raised: [1], interrupted: [0, 2] };
  const three = [...both, rank(2)];
  expect(
    sentence(view(three, { ...more, inside: ['barrier'] }), true, trans)
  ).toBe(
    'Paused on 3 ranks. Rank 1 raised ValueError: 1. Ranks 0, 2 were interrupted in barrier.'
  );
  expect(sentence(view(three, more), true, trans)).toContain(
    ' Ranks 0, 2 were interrupted.'
  );
});

it('says of ranks that were not looked at what the headline says of them', () => {
  const ranks = [0, 1, 2].map(
    rank => ({ rank, operation: rank === 1 ? {} : null }) as RankView
  );
  const said = (...running: number[]): string =>
    runningText({ running }, { ranks }, trans);
  expect(said(0, 1, 2)).toBe('ranks 0, 2 run, rank 1 waits');
  expect(said(1)).toBe('rank 1 waits');
});

it('says whose variables are listed', () => {
  const operation = { name: 'all_reduce' } as RankView['operation'];
  const ranks = [
    rank(0),
    rank(1, { phase: 'idle' }),
    rank(2, { phase: 'running', operation }),
    rank(3, { phase: 'running' })
  ];
  expect(whoseVariables(view(ranks, { focus: 0 }), trans)).toBe('Of rank 0:');
  expect(whoseVariables(view(ranks, { focus: 1 }), trans)).toBe(
    'Of the kernel, not of a rank:'
  );
  expect(whoseVariables(view(ranks, { focus: 2 }), trans)).toBe(
    'Of the kernel, as rank 2 waits:'
  );
  expect(whoseVariables(view(ranks, { focus: 3 }), trans)).toBe(
    'Of the kernel, as rank 3 runs:'
  );
  expect(whoseVariables(view(ranks, { on: false }), trans)).toBe('');
  expect(whoseVariables(null, trans)).toBe('');
});
