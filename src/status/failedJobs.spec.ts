import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { ILiveState, Job } from '../tokens';
import { FailedJobs, failedText } from './failedJobs';

const trans = nullTranslator.load('');

/** Failed jobs of a page, frames to it, and where jobs are visible. */
function page(): {
  failed: FailedJobs;
  frame: (...jobs: [string, Job['state'], object?][]) => void;
  seen: Set<string>;
  said: () => string | undefined;
} {
  const model = { jobs: [] as readonly Job[] };
  const changed = new Signal<unknown, void>(model);
  const seen = new Set<string>();
  const failed = new FailedJobs(
    Object.assign(model, { changed }) as unknown as ILiveState,
    id => seen.has(id)
  );
  return {
    failed,
    seen,
    frame: (...jobs) => {
      model.jobs = jobs.map(
        ([id, state, more]) =>
          ({
            ...{ id, name: id, state, sweep: null, started_at: 1 },
            ...{ failed_rank: 1, error: null, ...more }
          }) as Job
      );
      changed.emit();
    },
    said: () => failedText(failed.jobs, trans)?.text
  };
}

it('names a job that has failed until the user has looked at it', () => {
  const { failed, frame, seen, said } = page();
  frame(['old', 'failed'], ['tune', 'running']);
  expect(said()).toBeUndefined();
  frame(['old', 'failed'], ['tune', 'failed']);
  expect(said()).toBe('Job tune: rank 1 failed');
  seen.add('tune');
  failed.look();
  expect(said()).toBeUndefined(); // its view says so
  seen.delete('tune');
  failed.look();
  expect(said()).toBeUndefined();
  seen.add('tune'); // again
  failed.look();
  expect(said()).toBeUndefined();
  frame(['tune', 'running']); // its scheduler runs it again
  expect(said()).toBeUndefined();
  seen.delete('tune');
  frame(['tune', 'failed']);
  expect(said()).toBe('Job tune: rank 1 failed');
  seen.add('tune');
  failed.look();
  expect(said()).toBeUndefined();
});

it('names no trial of a sweep, and counts several jobs', () => {
  const { frame, said } = page();
  const states = (state: Job['state']): [string, Job['state'], object][] => [
    ['a', state, { failed_rank: null }],
    ['t', state, { sweep: 's' }]
  ];
  frame(...states('running'));
  frame(...states('failed'));
  expect(said()).toBe('Job a: failed');
  frame(['b', 'running'], ...states('failed'));
  frame(['b', 'lost'], ...states('failed'));
  expect(said()).toBe('2 jobs failed');
});

it('says how a job ended that did not run', () => {
  const text = (more: Partial<Job>): string | undefined =>
    failedText([{ name: 'tune', failed_rank: null, ...more } as Job], trans)
      ?.text;
  expect(text({ state: 'failed', started_at: null })).toBe(
    'Job tune: did not start'
  );
  expect(text({ state: 'lost' })).toBe('Job tune: lost');
});
