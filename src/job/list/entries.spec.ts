import { expect, it } from 'vitest';

import { nullTranslator } from '@jupyterlab/translation';

import { Job, Sweep } from '../../tokens';
import {
  entriesOf,
  entryPasses,
  entryPassesText,
  foundTrials,
  sortEntries
} from './entries';
import { JobFilter } from './filters';

const trans = nullTranslator.load('x');
const job = (id: string, at: number, more: Partial<Job> = {}): Job =>
  ({
    id,
    name: id,
    profile: 'local',
    notebook: 'a.ipynb',
    state: 'running',
    summary: { code: 'job_running', values: {}, text: '' },
    created_at: at,
    started_at: at,
    ended_at: null,
    sweep: null,
    ...more
  }) as Job;
const sweep = {
  id: 's',
  name: 'search',
  profile: 'hpc',
  notebook: 'b.ipynb',
  state: 'succeeded',
  summary: { code: 'sweep_succeeded', values: {}, text: '' },
  created_at: 2,
  ended_at: 9,
  ran_s: 3
} as Sweep;
const JOBS = [job('new', 5), job('trial', 4, { sweep: 's' }), job('old', 1)];

it('puts jobs of trials below their sweep, and the newest first', () => {
  const entries = entriesOf(JOBS, [sweep]);
  expect(entries.map(e => e.key)).toEqual(['new', 's', 'old']);
  const [, second] = entries;
  expect(second.kind === 'sweep' && second.trials.map(j => j.id)).toEqual([
    'trial'
  ]);
  // of a sweep that is not known, a trial is a job like others
  expect(entriesOf(JOBS, []).map(e => e.key)).toEqual(['new', 'trial', 'old']); // nor does a sweep fall apart while the server has not told of sweeps
  expect(entriesOf(JOBS, null).map(e => e.key)).toEqual(['new', 'old']);
});

it('filters and sorts both', () => {
  const entries = entriesOf(JOBS, [sweep]);
  const passing = (filter: JobFilter): string[] =>
    entries.filter(e => entryPasses(e, filter)).map(e => e.key);
  expect(passing('active')).toEqual(['new', 'old']);
  expect(passing('succeeded')).toEqual(['s']);
  expect(passing('failed')).toEqual([]);
  const ended = (id: string, state: Job['state']): Job =>
    job(id, 0, { state, ended_at: 1 });
  const ends = entriesOf(
    [
      ended('good', 'succeeded'),
      ended('away', 'cancelled'),
      ended('bad', 'failed'),
      ended('gone', 'lost')
    ],
    [{ ...sweep, state: 'stopped' }]
  );
  const counted = (filter: JobFilter): string[] =>
    ends.filter(e => entryPasses(e, filter)).map(e => e.key);
  expect(counted('succeeded')).toEqual(['good']);
  expect(counted('cancelled')).toEqual(['away']);
  expect(counted('failed')).toEqual(['bad']);
  expect(counted('lost')).toEqual(['gone']);
  expect(counted('stopped')).toEqual(['s']);
  const named = (text: string): string[] =>
    entries.filter(e => entryPassesText(e, text, trans)).map(e => e.key);
  expect(named('sear')).toEqual(['s']);
  expect(named('trial')).toEqual(['s']);
  expect(named('hpc')).toEqual(['s']);
  const found = (text: string): string[] =>
    entries.flatMap(e =>
      e.kind === 'sweep' ? foundTrials(e, text, trans).map(j => j.id) : []
    );
  expect(found('trial')).toEqual(['trial']);
  // the sweep itself is found: its trials stay folded
  expect([found(''), found('hpc'), found('zzz')]).toEqual([[], [], []]);
  expect(sortEntries(entries, 'name', 0).map(e => e.key)).toEqual([
    'new',
    'old',
    's'
  ]);
  // the time between the sweep's stop and its end is nobody's
  expect(sortEntries(entries, 'time', 6000).map(e => e.key)).toEqual([
    'old',
    's',
    'new'
  ]);
});
