import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makeCluster, makeVerdict } from '../../testing/clusters';
import { makeDebugView } from '../../testing/debug';
import { Job } from '../../tokens';
import { RankView } from './model';
import {
  beforeRanks,
  glyphOf,
  placeOf,
  sentence,
  whoseVariables
} from './texts';
import { areAnyHeld, withAlarm, worldOf } from './world';

const trans = nullTranslator.load('x');
const ranks = ['running', 'running', 'running'].map(
  (phase, rank) =>
    ({ rank, phase, attached: true, operation: null, place: null }) as RankView
);
const alarm = makeVerdict({ text: 'Rank 1 is stuck.', peers: [0, 2] });
const ignored = (): null => null;
const cells = { nameOfRanks: (path: string) => path, ranksOf: () => null };

it('says of stuck ranks what the panel says of them', () => {
  const view = makeDebugView({ code: 'running', ranks, world: 'c1' });
  const { metrics } = makeCluster();
  const stuck = makeCluster({ metrics: { ...metrics, verdicts: [alarm] } });
  const found = worldOf({ clusters: [stuck], jobs: [], ignored }, view);
  const shown = withAlarm(view, found);
  expect(sentence(shown, true, trans)).toBe('Rank 1 is stuck.');
  expect(
    shown.ranks.map(r => placeOf(r, false, cells, new Set(), trans))
  ).toEqual(['waits', 'stuck', 'waits']);
  expect(shown.ranks.map(r => glyphOf(r, false))).toEqual([
    'in collective',
    'stuck',
    'in collective'
  ]);
});

it('says that ranks wait as before once the verdict is put aside', () => {
  const view = makeDebugView({ code: 'running', ranks, world: 'c1', focus: 2 });
  const worlds = { clusters: [makeCluster()], jobs: [], ignored: () => alarm };
  const shown = withAlarm(view, worldOf(worlds, view));
  expect(sentence(shown, true, trans)).toBe('3 ranks run; 2 of them wait.');
  expect(
    shown.ranks.map(r => placeOf(r, false, cells, new Set(), trans))
  ).toEqual(['waits', 'runs', 'waits']);
  expect(whoseVariables({ ...shown, on: true }, trans)).toBe(
    'Of the kernel, as rank 2 waits:'
  );
});

it('knows ranks that any debugger holds', () => {
  const [first] = makeCluster().ranks;
  const held = makeCluster({ ranks: [{ ...first, state: 'paused' }] });
  expect(areAnyHeld({ clusters: [makeCluster()], jobs: [] })).toBe(false);
  expect(areAnyHeld({ clusters: [makeCluster(), held], jobs: [] })).toBe(true);
  expect(beforeRanks(false, true, trans)).toMatch(/^Ranks are paused\. They/);
  expect(beforeRanks(false, false, trans)).toMatch(/^To see ranks here, turn/);
  expect(beforeRanks(true, false, trans)).toMatch(/^No ranks yet/);
});

it('does not call a rank stuck that still computes', () => {
  const view = makeDebugView({ code: 'running', ranks, world: 'c1' });
  const shown = withAlarm(view, {
    alarm: { ...alarm, code: 'computing' },
    ignored: null
  });
  expect(placeOf(shown.ranks[1], false, cells, new Set(), trans)).toBe(
    'still computing'
  );
});

it('leaves positions to the debugger while it knows them, or no rank is stuck', () => {
  const paused = makeDebugView({ ranks });
  expect(withAlarm(paused, { alarm, ignored: null })).toBe(paused);
  const running = makeDebugView({ code: 'running', ranks });
  expect(withAlarm(running, { alarm: null, ignored: null })).toBe(running);
});

it('names the job that is debugged, and not another one', () => {
  const jobs = ['a', 'b'].map(
    id => ({ id, name: `job ${id}`, metrics: makeCluster().metrics }) as Job
  );
  const clusters = [makeCluster()];
  const of = (world: string): string | null =>
    worldOf({ clusters, jobs, ignored }, { world }).job;
  expect([of('b'), of('c1'), of('')]).toEqual(['job b', null, null]);
  expect(worldOf({ clusters, jobs, ignored }, null).job).toBeNull();
});
