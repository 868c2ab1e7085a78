import { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { expect, it, vi } from 'vitest';

import { confirmLoss, showFailure } from '../cluster/dialogs/dialogs';
import { CommandIDs } from '../commands';
import { KernelRecords } from '../locations/kernelRecords';
import { RequestError } from '../request/rest';
import { IJobs, Job } from '../tokens';
import { addJobCommands } from './jobCommands';
import { moment } from './model/texts';

vi.mock('../cluster/dialogs/dialogs', () => ({
  confirmLoss: vi.fn(async () => true),
  showFailure: vi.fn()
}));

it('says of a job that waits that nothing is lost, and of a running one that its ranks end', async () => {
  const commands = new CommandRegistry();
  const cancel = vi.fn(async () => ({ state: 'stopping' }) as Job);
  addJobCommands(
    { commands } as unknown as JupyterFrontEnd,
    { cancel, lastAnswer: [] as Job[] } as unknown as IJobs,
    new KernelRecords(),
    nullTranslator.load(''),
    () =>
      ['waits', 'runs'].map(
        id => ({ id, name: id, started_at: id === 'waits' ? null : 1 }) as Job
      ),
    () => undefined
  );
  const asked = vi.mocked(confirmLoss).mock.calls;
  for (const id of ['waits', 'runs']) {
    await commands.execute(CommandIDs.cancelJob, { id, name: id });
  }
  expect(asked.map(([, body]) => body)).toEqual([
    'It has not started, so nothing of it is lost.',
    'Its ranks end. What it wrote stays, its checkpoints too.'
  ]);
  expect(cancel.mock.calls).toEqual([['waits'], ['runs']]);
});

it('says that a job has ended while its user was asked whether to cancel it', async () => {
  const job = (state: Job['state'], may: Job['may'] = []): Job =>
    ({ state, may, summary: { text: `Is ${state}.` } }) as unknown as Job;
  const named = (all: Record<string, Job>): Job[] =>
    Object.entries(all).map(([id, one]) => ({ ...one, id, name: id }));
  const known: Record<string, Job> = {
    done: job('succeeded'),
    others: job('cancelled'),
    late: job('running', ['cancel']),
    ours: job('running', ['cancel']),
    lost: job('lost', ['cancel'])
  };
  const after: Record<string, Job> = {
    ...known,
    late: job('failed'),
    ours: job('cancelled')
  };
  const commands = new CommandRegistry();
  // each is still running when its command is started
  let asked = false;
  addJobCommands(
    { commands } as unknown as JupyterFrontEnd,
    {
      cancel: async (id: string) => after[id],
      lastAnswer: [] as Job[]
    } as unknown as IJobs,
    new KernelRecords(),
    nullTranslator.load(''),
    () =>
      asked
        ? named(known)
        : named(known).map(one => ({ ...one, ...job('running', ['cancel']) })),
    () => undefined
  );
  vi.mocked(confirmLoss).mockImplementation(async () => (asked = true));
  Notification.manager.dismiss();
  for (const id of Object.keys(known)) {
    asked = false;
    await commands.execute(CommandIDs.cancelJob, { id, name: id });
  }
  expect(Notification.manager.notifications.map(n => n.message)).toEqual([
    'late had already ended: Is failed.',
    'others had already ended: Is cancelled.',
    'done had already ended: Is succeeded.'
  ]);
});

it('asks about one of two jobs of the same name by its time, also where frames leave the other one out', async () => {
  const long = (id: string, created_at: number): Job =>
    ({ id, name: 'long', created_at, may: ['cancel', 'delete'] }) as Job;
  const commands = new CommandRegistry();
  let lastAnswer: Job[] = [];
  const asked = vi.mocked(confirmLoss);
  asked.mockReset().mockResolvedValue(false);
  addJobCommands(
    { commands } as unknown as JupyterFrontEnd,
    {
      all: async () => [long('b', 600), long('old', 60)],
      get lastAnswer() {
        return lastAnswer;
      }
    } as unknown as IJobs,
    new KernelRecords(),
    nullTranslator.load(''),
    () => [long('b', 600)],
    () => undefined
  );
  const title = async (command: string, id: string): Promise<string> => {
    await commands.execute(command, { id, name: 'long' });
    return asked.mock.lastCall![0];
  };
  expect(await title(CommandIDs.deleteJob, 'b')).toBe('Delete the job long?');
  // not listed so far: the server is asked
  expect(await title(CommandIDs.deleteJob, 'old')).toBe(
    `Delete the job long, ${moment(60)}?`
  );
  lastAnswer = [long('b', 600), long('old', 60)];
  expect(await title(CommandIDs.deleteJob, 'b')).toBe(
    `Delete the job long, ${moment(600)}?`
  );
  expect(await title(CommandIDs.cancelJob, 'old')).toBe(
    `Cancel the job long, ${moment(60)}?`
  );
});

it('tells why a job is not deleted, also if the jobs that keep it cannot be listed', async () => {
  const commands = new CommandRegistry();
  const refused = new RequestError(409, {
    code: 'checkpoints_used',
    message: 'The folder of reg (a) contains checkpoints of reg (b).',
    hint: '',
    details: { jobs: ['b'] }
  });
  const job = { id: 'a', name: 'reg', may: ['delete'] } as unknown as Job;
  vi.mocked(confirmLoss).mockResolvedValueOnce(true);
  addJobCommands(
    { commands } as unknown as JupyterFrontEnd,
    {
      all: () => Promise.reject(new Error('The list is lost.')),
      remove: () => Promise.reject(refused),
      lastAnswer: [job]
    } as unknown as IJobs,
    new KernelRecords(),
    nullTranslator.load(''),
    () => [job],
    () => undefined
  );
  await commands.execute(CommandIDs.deleteJob, { id: 'a', name: 'reg' });
  expect(vi.mocked(showFailure).mock.lastCall?.[0]).toBe(refused);
});

it('is possible for a named job only, and where that job allows it', async () => {
  const commands = new CommandRegistry();
  const resume = vi.fn();
  const known = { id: 'known', may: ['cancel'], summary: { text: 'Running.' } };
  addJobCommands(
    { commands } as unknown as JupyterFrontEnd,
    { resume } as unknown as IJobs,
    new KernelRecords(),
    nullTranslator.load(''),
    () => [known as unknown as Job],
    () => undefined
  );
  const can = (id: string, args = {}): boolean => commands.isEnabled(id, args);
  expect(can(CommandIDs.resumeJob)).toBe(false);
  expect(commands.caption(CommandIDs.resumeJob)).toContain('list of jobs');
  await commands.execute(CommandIDs.resumeJob, {});
  expect(resume).not.toHaveBeenCalled();
  expect(can(CommandIDs.resumeJob, { id: 'known' })).toBe(false);
  expect(commands.caption(CommandIDs.resumeJob, { id: 'known' })).toBe(
    'Not possible now. Running.'
  );
  expect(can(CommandIDs.cancelJob, { id: 'known' })).toBe(true);
  // an old job is not known without a request
  expect(can(CommandIDs.resumeJob, { id: 'old' })).toBe(true);
});
