import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { CommandIDs } from '../../commands';
import { reportErrors } from '../dialogs/reportErrors';
import { signInTo } from '../dialogs/signin';

/** The command that answers a host's prompt. */
export function addSignInCommand(
  commands: CommandRegistry,
  settings: ServerConnection.ISettings,
  trans: TranslationBundle
): void {
  commands.addCommand(CommandIDs.signIn, {
    label: trans.__('Sign In…'),
    caption: trans.__("Answer a host's prompt"),
    isEnabled: args => !!args.host,
    execute: async args => {
      const { host } = args;
      if (typeof host === 'string' && host) {
        await reportErrors(trans, async () => {
          await signInTo(host, settings, trans);
        });
      }
    },
    describedBy: {
      args: {
        type: 'object',
        required: ['host'],
        properties: {
          host: { type: 'string', description: 'Name of the host' }
        }
      }
    }
  });
}
