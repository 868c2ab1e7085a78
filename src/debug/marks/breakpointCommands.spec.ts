import { IDebugger } from '@jupyterlab/debugger';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { expect, it } from 'vitest';

import { CommandIDs } from '../../commands';
import {
  addBreakpointCommands,
  changeText,
  IBreakpointParts
} from './breakpointCommands';

const trans = nullTranslator.load('x');

it('says which breakpoint was set or removed, where the kernel has put it', () => {
  const at = (line: number): { name: string; path: string; line: number } => ({
    name: `cell [7], line ${line}`,
    path: 'p',
    line
  });
  expect(changeText([at(3)], [at(3), at(6)], trans)).toBe(
    'Breakpoint set: cell [7], line 6.'
  );
  expect(changeText([at(3), at(6)], [at(6)], trans)).toBe(
    'Breakpoint removed: cell [7], line 3.'
  );
  expect(changeText([at(3)], [at(3)], trans)).toBe('');
});

it('offers nothing where no code is in front, and says where to go', () => {
  const commands = new CommandRegistry();
  addBreakpointCommands({
    app: { commands, shell: { currentWidget: null } },
    tracker: { currentWidget: null },
    files: null,
    debug: {} as IDebugger,
    trans
  } as unknown as IBreakpointParts);
  for (const id of [CommandIDs.toggleBreakpoint, CommandIDs.editBreakpoint]) {
    expect(commands.isEnabled(id)).toBe(false);
    expect(commands.caption(id)).toContain('Go to a line of a code cell');
  }
});
