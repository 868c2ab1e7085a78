import { CommandRegistry } from '@lumino/commands';

import { CommandIDs } from '../commands';

/**
 * The commands of dtrain-lab, which do nothing but what `ran` does.
 *
 * @param has - whether there is a command: the plugins of others are disabled
 */
export function makeCommands(
  ran: (id: string, args: unknown) => void = () => undefined,
  has: (id: string) => boolean = () => true
): CommandRegistry {
  const commands = new CommandRegistry();
  for (const id of Object.values(CommandIDs).filter(has)) {
    commands.addCommand(id, { execute: args => ran(id, args) });
  }
  return commands;
}
