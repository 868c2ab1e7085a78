import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { beforeEach, expect, it } from 'vitest';

import { ILiveState, IPreferences, Job } from '../tokens';
import { announceJobs } from './notices';

const trans = nullTranslator.load('');

beforeEach(() => {
  Notification.manager.dismiss();
});

/** Jobs that run, fail and end, as frames tell of them. */
function told(
  inView: (id: string) => boolean,
  isWanted: (state: string) => boolean = () => true
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
  for (const state of ['queued', 'running', 'failed'] as const) {
    const summary = { code: state, values: {}, text: `Is ${state}.` };
    values.notifyJobs = isWanted(state);
    model.jobs = ['a', 'b'].map(id => ({ id, name: id, state, summary }));
    changed.emit();
  }
  return Notification.manager.notifications.map(n => n.message);
}

it('tells of jobs that nobody looks at', () => {
  const texts = told(id => id === 'a');
  expect(texts).toHaveLength(2);
  expect(texts).toContain('b: Is running.');
  expect(texts).toContain('b: Is failed.');
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
