import { JupyterFrontEnd } from '@jupyterlab/application';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { expect, it, vi } from 'vitest';

import { confirmLoss } from '../cluster/dialogs/dialogs';
import { CommandIDs } from '../commands';
import { KernelRecords } from '../locations/kernelRecords';
import { IJobs, Job } from '../tokens';
import { addJobCommands } from './jobCommands';

vi.mock('../cluster/dialogs/dialogs', () => ({
  confirmLoss: vi.fn(async () => true)
}));

it('says of a job that waits that nothing is lost, and of a running one that its ranks end', async () => {
  const commands = new CommandRegistry();
  const cancel = vi.fn(async () => undefined);
  addJobCommands(
    { commands } as unknown as JupyterFrontEnd,
    { cancel } as unknown as IJobs,
    new KernelRecords(),
    nullTranslator.load(''),
    id => ({ started_at: id === 'waits' ? null : 1 }) as Job,
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

it('is possible for a named job only, and where that job allows it', async () => {
  const commands = new CommandRegistry();
  const resume = vi.fn();
  const known = { may: ['cancel'], summary: { text: 'Running.' } };
  addJobCommands(
    { commands } as unknown as JupyterFrontEnd,
    { resume } as unknown as IJobs,
    new KernelRecords(),
    nullTranslator.load(''),
    id => (id === 'known' ? (known as unknown as Job) : undefined),
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
