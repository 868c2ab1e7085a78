import { Notification } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { TranslationBundle } from '@jupyterlab/translation';
import { LabIcon } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { onceAtATime } from '../request/once';
import { whyNoJob } from './model/executedPaths';
import { askedNotebook } from './form/notebook';

/** A command that opens a form of a notebook. */
interface IFormCommand {
  label: CommandRegistry.ICommandOptions['label'];
  caption: string;
  icon: LabIcon;
  /** Schemas of its arguments besides the notebook's path. */
  properties?: ReadonlyPartialJSONObject;
  /** The current notebook, else the one selected in the file browser. */
  chosen: () => string | null;
  browser: IDefaultFileBrowser | null;
  /** Open the form; called once at a time for the same arguments. */
  open: (path: string, args: ReadonlyPartialJSONObject) => Promise<void>;
  trans: TranslationBundle;
}

/** Options of a command that opens a form of a notebook: of its path, else of the chosen one. */
export function formCommand(
  form: IFormCommand
): CommandRegistry.ICommandOptions {
  const { chosen, trans } = form;
  const others = Object.keys(form.properties ?? {});
  const asked = (args: ReadonlyPartialJSONObject): string | null =>
    (args.path as string | undefined) ?? chosen();
  // it takes a while, and a second click would not find a form that is still opening
  const once = onceAtATime();
  return {
    label: form.label,
    caption: args => whyNoJob(asked(args), trans) ?? form.caption,
    icon: args => (args.toolbar ? form.icon : undefined),
    isEnabled: args => {
      const path = asked(args);
      return !!path && !whyNoJob(path, trans);
    },
    execute: async args => {
      const path = askedNotebook(args, chosen, form.browser);
      if (!path) {
        Notification.info(trans.__('Open a notebook first.'));
        return;
      }
      // a button may execute it though it is disabled
      const why = whyNoJob(path, trans);
      if (why) {
        Notification.info(why);
        return;
      }
      const key = [path, ...others.map(name => args[name])].join('\n');
      await once(key, () => form.open(path, args));
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Path of the notebook' },
          ...form.properties
        }
      }
    }
  };
}
