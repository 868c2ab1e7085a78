import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { beforeEach, expect, it } from 'vitest';

import { ILiveState, Job } from '../tokens';
import { announceJobs } from './notices';

const trans = nullTranslator.load('');

beforeEach(() => {
  Notification.manager.dismiss();
});

/** Jobs that run, fail and end, as frames tell of them. */
function told(inView: (id: string) => boolean): string[] {
  const model = { jobs: [] as Partial<Job>[] };
  const changed = new Signal<unknown, void>(model);
  announceJobs(
    Object.assign(model, { changed }) as unknown as ILiveState,
    new CommandRegistry(),
    trans,
    inView
  );
  for (const state of ['queued', 'running', 'failed'] as const) {
    const summary = { code: state, values: {}, text: `Is ${state}.` };
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
