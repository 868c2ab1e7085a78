import { expect, it, vi } from 'vitest';

import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';

import { makeVerdict } from '../../testing/clusters';
import { Job, Verdict } from '../../tokens';
import { IMark, shownOf } from './lineMarks';
import { asksOf, marksOf, RankMarks } from './rankMarks';
import { DebugModel, DebugView, RankView } from '../model/model';

const trans = nullTranslator.load('');
const CELL = '/tmp/ipykernel_12/345.py';
const REDUCE = { name: 'all_reduce', sequence: 4, shape: [2], ranks: [0, 1] };

function rank(number: number, more: Partial<RankView>): RankView {
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

it('says beside a line who stands there and who waits', () => {
  const elsewhere = { file: '/home/me/model.py', line: 6, function: 'f' };
  const later = { file: CELL, line: 9, function: 'step' };
  const view = {
    ranks: [
      rank(0, {}),
      rank(1, {}),
      rank(2, { phase: 'running', operation: REDUCE }),
      rank(3, { phase: 'running' }),
      rank(4, { place: elsewhere }),
      rank(5, { place: later }),
      rank(6, { phase: 'idle', place: null }),
      rank(7, {})
    ]
  } as DebugView;
  expect(marksOf(view, CELL, trans)).toEqual([
    { line: 6, kind: 'waits', text: 'rank 2, in all_reduce' },
    { line: 6, kind: 'paused', text: 'ranks 0–1, 7' },
    { line: 9, kind: 'paused', text: 'rank 5' }
  ]);
  expect(marksOf(view, '/tmp/ipykernel_12/1.py', trans)).toEqual([]);
});

it('marks stuck ranks of a job once, however long they have been stuck', () => {
  const signal = <T>() => new Signal<object, T>({});
  const jobs: Job[] = [];
  const changed = signal<void>();
  const find = vi.fn();
  new RankMarks(
    { changed: signal(), view: { world: 'j1' } } as unknown as DebugModel,
    {
      model: { breakpoints: { changed: signal(), restored: signal() } }
    } as unknown as IDebugger,
    { find } as unknown as INotebookTracker,
    { clusters: [], jobs, changed, ignored: () => null } as never,
    trans,
    () => []
  );
  const sampled = (...verdicts: Verdict[]): number => {
    jobs[0] = { id: 'j1', name: 'long', metrics: { verdicts } } as Job;
    changed.emit();
    return find.mock.calls.length;
  };
  expect(sampled()).toBe(0);
  const draws = [1, 2, 3].map(since_s =>
    sampled(makeVerdict({ since_s, values: { seconds: since_s } }))
  );
  expect(draws).toEqual([1, 1, 1]);
  expect(sampled(makeVerdict({ peers: [0, 2] }))).toBe(2);
  expect(sampled()).toBe(3);
});

it('says where a stuck rank of a job stands', () => {
  const stuck = { ...rank(1, { phase: 'running' }), stuck: 'stuck' };
  const ranks = [rank(0, { phase: 'running', operation: REDUCE }), stuck];
  expect(marksOf({ ranks }, CELL, trans)).toEqual([
    { line: 6, kind: 'waits', text: 'rank 0, in all_reduce' },
    { line: 6, kind: 'stuck', text: 'rank 1, stuck' }
  ]);
});

it('tells breakpoints that ask something from those that stop always', () => {
  const point = { path: CELL, condition: '', hit: '', log: '' };
  const view = {
    points: [
      { ...point, line: 2 },
      { ...point, line: 3, condition: 'rank == 1' },
      { ...point, line: 4, hit: '3' },
      { ...point, line: 5, log: 'loss' },
      { ...point, line: 6, path: '/home/me/model.py', log: 'loss' }
    ]
  } as unknown as DebugView;
  expect(
    asksOf(view.points, CELL).map(({ line, kind }) => [line, kind])
  ).toEqual([
    [3, 'asks'],
    [4, 'asks'],
    [5, 'asks']
  ]);
});

it('marks ranks that wait at a line once, whoever says so', () => {
  const waits = (line: number, text: string): IMark => ({
    line,
    kind: 'waits',
    text
  });
  const shown = shownOf({
    debugger: [waits(3, 'rank 0, in all_reduce'), waits(3, 'rank 1, in send')],
    verdict: [
      waits(3, 'rank 0 waits here'),
      { line: 5, kind: 'stuck', text: 'rank 2 is here' }
    ]
  });
  expect(shown.map(m => m.text)).toEqual([
    'rank 0, in all_reduce',
    'rank 1, in send',
    'rank 2 is here'
  ]);
  const mismatch = shownOf({
    debugger: [waits(5, 'rank 2, in broadcast'), waits(8, 'rank 0, in gather')],
    verdict: [
      { line: 5, kind: 'stuck', text: 'rank 2 is here' },
      waits(5, 'rank 3 waits here')
    ]
  });
  expect(mismatch.map(m => m.text)).toEqual([
    'rank 0, in gather',
    'rank 2 is here',
    'rank 3 waits here'
  ]);
});
