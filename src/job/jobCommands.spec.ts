import { JupyterFrontEnd } from '@jupyterlab/application';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { expect, it, vi } from 'vitest';

import { confirmLoss } from '../cluster/dialogs/dialogs';
import { CommandIDs } from '../commands';
import { Job } from '../tokens';
import { addJobCommands } from './jobCommands';
import { JobRequests } from './model/requests';

vi.mock('../cluster/dialogs/dialogs', () => ({
  confirmLoss: vi.fn(async () => true)
}));

it('says of a job that waits that nothing is lost, and of a running one that its ranks end', async () => {
  const commands = new CommandRegistry();
  const cancel = vi.fn(async () => undefined);
  addJobCommands(
    { commands } as unknown as JupyterFrontEnd,
    { cancel } as unknown as JobRequests,
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
