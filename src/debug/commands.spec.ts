import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { expect, it } from 'vitest';

import { CommandIDs } from '../commands';
import { addDebugCommands, DEBUG_COMMANDS } from './commands';
import { DebugModel } from './model/model';
import { IDebugParts } from './startDebugger';

const trans = nullTranslator.load('dtrain_lab');

/** The commands while the sidebar shows a view: whether each is offered, and what its tooltip says. */
function offered(view: object | null, isStarted = true): string[] {
  const commands = new CommandRegistry();
  const model = { view, isStarted } as unknown as DebugModel;
  addDebugCommands({ app: { commands }, model, trans } as IDebugParts);
  return DEBUG_COMMANDS.map(id =>
    commands.isEnabled(id) ? 'yes' : commands.caption(id)
  );
}

function rank(phase: string, attached = true): object {
  return { rank: 0, phase, attached, place: null, operation: null };
}

const view = { on: true, code: 'running', points: [], pausing: [] };

it('offers nothing that acts on ranks without a debugger, and says so', () => {
  const off = 'The debugger is off.';
  expect(offered(null, false)).toEqual([off, off, off, off]);
});

it('offers nothing without ranks, nor once the debugged job has ended', () => {
  const none = 'No ranks yet: run a %%distributed cell.';
  expect(offered({ ...view, code: 'empty', ranks: [] })).toEqual(
    DEBUG_COMMANDS.map(() => none)
  );
  const sentence = 'The job has ended.';
  const ranks = [rank('gone', false)];
  expect(offered({ ...view, code: 'ended', sentence, ranks })).toEqual(
    DEBUG_COMMANDS.map(() => sentence)
  );
});

it('offers to continue only while a rank is paused, or about to be', () => {
  expect(offered({ ...view, ranks: [rank('running')] })).toEqual([
    'yes',
    'No rank is paused.',
    'yes',
    'yes'
  ]);
  const ranks = [rank('paused')];
  expect(offered({ ...view, ranks })).not.toContain('No rank is paused.');
  const pausing = { ...view, pausing: [0], ranks: [rank('running')] };
  expect(offered(pausing)).not.toContain('No rank is paused.');
});

it('offers what starts with the debugger of a named cluster', () => {
  const commands = new CommandRegistry();
  const model = { view: null, isStarted: false } as unknown as DebugModel;
  addDebugCommands({ app: { commands }, model, trans } as IDebugParts);
  const id = 'c';
  expect(commands.isEnabled(CommandIDs.debugRank, { id })).toBe(true);
  expect(commands.isEnabled(CommandIDs.continueRanks, { id })).toBe(true);
});
