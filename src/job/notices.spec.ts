import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { beforeEach, expect, it } from 'vitest';

import { makeCluster, makeVerdict } from '../testing/clusters';
import { ILiveState, IPreferences, Job } from '../tokens';
import { moment } from './model/texts';
import { announceJobs } from './notices';

const trans = nullTranslator.load('');
const { metrics } = makeCluster();

beforeEach(() => {
  Notification.manager.dismiss();
});

/** Jobs that run, fail and end, as frames tell of them. */
function told(
  inView: (id: string) => boolean,
  isWanted: (state: string) => boolean = () => true,
  states: readonly Job['state'][] = ['queued', 'running', 'failed']
): string[] {
  const model = { jobs: [] as Partial<Job>[] };
  const changed = new Signal<unknown, void>(model);
  const values = { notifyJobs: true };
  announceJobs(
    Object.assign(model, { changed }) as unknown as ILiveState,
    { values } as unknown as IPreferences,
    new CommandRegistry(),
    trans,
    inView
  );
  for (const state of states) {
    const summary = { code: state, values: {}, text: `Is ${state}.` };
    values.notifyJobs = isWanted(state);
    model.jobs = ['a', 'b'].map(id => ({
      id,
      name: id,
      state,
      summary,
      metrics
    }));
    changed.emit();
  }
  return Notification.manager.notifications.map(n => n.message);
}

it('tells of jobs that nobody looks at, as they are now', () => {
  const isRunning = (state: string): boolean => state === 'running';
  expect(
    told(
      id => id === 'a',
      () => true,
      ['queued', 'running']
    )
  ).toEqual(['b: Is running.']);
  Notification.manager.dismiss();
  expect(told(id => id === 'a')).toEqual(['b: Is failed.']);
  Notification.manager.dismiss();
  // its end was not to be told of
  expect(told(() => false, isRunning)).toEqual([]);
});

it('says no longer that a job runs which has ended in view', () => {
  const starts = ['a', 'b'];
  // each is opened after its start
  const inView = (id: string): boolean => {
    const at = starts.indexOf(id);
    starts.splice(at, at < 0 ? 0 : 1);
    return at < 0;
  };
  expect(told(inView)).toEqual([]);
  expect(starts).toEqual([]);
});

it('tells jobs of the same name apart', () => {
  const model = { jobs: [] as Partial<Job>[] };
  const changed = new Signal<unknown, void>(model);
  announceJobs(
    Object.assign(model, { changed }) as unknown as ILiveState,
    { values: { notifyJobs: true } } as unknown as IPreferences,
    new CommandRegistry(),
    trans,
    () => false
  );
  const old = { id: 'a', name: 'long', created_at: 60, metrics };
  for (const state of ['queued', 'running'] as const) {
    const summary = { code: state, values: {}, text: `Is ${state}.` };
    const job = { ...old, id: 'b', created_at: 600, state, summary };
    model.jobs = [job, { ...old, state: 'failed', summary }];
    changed.emit();
  }
  expect(Notification.manager.notifications.map(n => n.message)).toEqual([
    `long, ${moment(600)}: Is running.`
  ]);
});

it('is silent while the settings say so, from the next change on', () => {
  expect(
    told(
      () => false,
      () => false
    )
  ).toEqual([]);
  Notification.manager.dismiss();
  const texts = told(
    id => id === 'a',
    state => state === 'failed'
  );
  expect(texts).toEqual(['b: Is failed.']);
});

it('tells once of a job that hangs, until it goes on', () => {
  const model = { jobs: [] as Partial<Job>[] };
  const changed = new Signal<unknown, void>(model);
  announceJobs(
    Object.assign(model, { changed }) as unknown as ILiveState,
    { values: { notifyTrouble: true } } as unknown as IPreferences,
    new CommandRegistry(),
    trans,
    id => id === 'seen'
  );
  const frame = (hang: string | null): string[] => {
    const verdicts = hang ? [makeVerdict({ id: hang, alarm: true })] : [];
    const text = hang ? 'Rank 1 is stuck.' : 'Training on 2 ranks.';
    model.jobs = ['a', 'seen'].map(id => ({
      id,
      name: id,
      state: 'running',
      summary: { code: 'x', values: {}, text },
      metrics: { ...metrics, verdicts }
    }));
    changed.emit();
    return Notification.manager.notifications.map(n => n.message);
  };
  const said = 'a: Rank 1 is stuck.';
  expect(frame(null)).toEqual([]);
  expect(frame('hang')).toEqual([said]);
  const [{ id }] = Notification.manager.notifications;
  expect(frame('hang')).toEqual([said]);
  expect(Notification.manager.notifications[0].id).toBe(id);
  expect(frame(null)).toEqual([]);
  expect(frame('another')).toEqual([said]);
});

it('forgets a job that has ended once frames leave it out, not one that a frame lacks while it runs', () => {
  const model = { jobs: [] as Partial<Job>[] };
  const changed = new Signal<unknown, void>(model);
  announceJobs(
    Object.assign(model, { changed }) as unknown as ILiveState,
    { values: { notifyJobs: true } } as unknown as IPreferences,
    new CommandRegistry(),
    trans,
    () => false
  );
  const frame = (...states: [string, Job['state']][]): void => {
    model.jobs = states.map(([id, state]) => {
      const summary = { code: state, values: {}, text: `Is ${state}.` };
      return { id, name: id, state, summary, metrics };
    });
    changed.emit();
  };
  frame(['old', 'failed'], ['new', 'queued']);
  frame(['other', 'queued']);
  // it is as if it had never been seen: nothing has changed since
  frame(['old', 'lost'], ['new', 'running']);
  expect(Notification.manager.notifications.map(n => n.message)).toEqual([
    'new: Is running.'
  ]);
});
