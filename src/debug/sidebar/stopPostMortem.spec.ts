import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { afterEach, expect, it, vi } from 'vitest';

import { CommandIDs } from '../../commands';
import { endPostMortemOnStop } from './stopPostMortem';

const STOP = 'notebook:interrupt-kernel';

/** How often ranks were continued once the user has pressed Stop. */
async function continued(
  kind: string,
  status: string,
  phase = 'paused',
  session = 's'
): Promise<number> {
  const commands = new CommandRegistry();
  const goesOn = vi.fn();
  commands.addCommand(STOP, { execute: () => undefined });
  commands.addCommand(CommandIDs.continueRanks, { execute: goesOn });
  const panel = {
    sessionContext: { session: { id: 's', kernel: { status } } }
  };
  endPostMortemOnStop({
    commands,
    clusters: { clusters: [{ id: 'c', running: [{ kind }] }] },
    debug: { session: { connection: { id: session } } },
    model: { view: { world: 'c', ranks: [{ phase }] } },
    tracker: {
      currentWidget: panel,
      find: (is: (one: object) => boolean) => (is(panel) ? panel : undefined)
    },
    trans: nullTranslator.load('x'),
    onError: (error: unknown) => expect(error).toBeUndefined()
  } as unknown as Parameters<typeof endPostMortemOnStop>[0]);
  await commands.execute(STOP);
  return goesOn.mock.calls.length;
}

afterEach(() => {
  vi.restoreAllMocks();
});

it('ends a post-mortem, and continues ranks in no other case', async () => {
  expect(await continued('post_mortem', 'idle')).toBe(1);
  // a cell that waits for these ranks ends instead
  expect(await continued('post_mortem', 'busy')).toBe(0);
  expect(await continued('cell', 'idle')).toBe(0);
  expect(await continued('post_mortem', 'idle', 'idle')).toBe(0);
  expect(await continued('post_mortem', 'idle', 'paused', 'other')).toBe(0);
});
