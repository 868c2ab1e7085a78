import { Notification } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { checkIcon, editIcon } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';

import { CommandIDs } from '../../commands';
import { longWork } from '../../request/longWork';
import { onceAtATime } from '../../request/once';
import { request } from '../../request/rest';
import { CheckedProfile, ISite, ProfileCheck } from '../../tokens';
import { Faults, FormBody, FormDialog, nameFault } from '../dialogs/formDialog';
import { reportErrors } from '../dialogs/reportErrors';
import { addDeleteCommand } from './deleteProfile';
import { editProfile } from './editProfile';
import { reportInToast, showReport } from './checkReport';
import { TOAST_MS } from '../../ui/text/toast';

/** The name of an existing profile, or of a new one. */
export class NameBody extends FormBody<string> {
  constructor(
    private _names: readonly string[],
    private _trans: TranslationBundle
  ) {
    super();
    this._name.placeholder = 'hpc-a100';
    this.add('name', _trans.__('Name of the profile'), this._name);
  }

  getValue(): string {
    return this._name.value.trim();
  }

  faults(): Faults {
    const name = this.getValue();
    if (!name) {
      return { name: this._trans.__('Enter a name.') };
    }
    const wrong = this._names.includes(name)
      ? null
      : nameFault(name, this._trans);
    return wrong ? { name: wrong } : {};
  }

  private _name = document.createElement('input');
}

/** One of the existing profiles. */
class ChoiceBody extends FormBody<string> {
  constructor(known: readonly string[], trans: TranslationBundle) {
    super();
    known.forEach(name => this._names.add(new Option(name)));
    this.add('name', trans.__('Profile'), this._names);
  }

  getValue(): string {
    return this._names.value;
  }

  faults(): Faults {
    return {};
  }

  private _names = document.createElement('select');
}

/** Edit, delete and check profiles. */
export function addProfileCommands(
  commands: CommandRegistry,
  site: ISite,
  settings: ServerConnection.ISettings,
  trans: TranslationBundle
): void {
  const once = onceAtATime();
  const isReadOnly = (): boolean => site.facts?.may_write === false;
  site.changed.connect(() => {
    for (const command of [
      CommandIDs.editProfile,
      CommandIDs.deleteProfile,
      CommandIDs.checkProfile
    ]) {
      commands.notifyCommandChanged(command);
    }
  });
  const describedBy = {
    args: {
      type: 'object',
      properties: {
        name: {
          type: 'string',
          description: 'Name of the profile; if missing, the user is asked'
        }
      }
    }
  } as const;
  const nameOf = async (
    given: unknown,
    title: string,
    Body: typeof NameBody | typeof ChoiceBody,
    next: string,
    names: readonly string[] = site.profiles.map(p => p.name)
  ): Promise<string | null> => {
    if (typeof given === 'string') {
      return given;
    }
    const body: FormBody<string> = new Body(names, trans);
    const attempt = async (): Promise<null> => null;
    const dialog = new FormDialog(title, body, next, attempt, trans);
    const { value, button } = await dialog.launch();
    return button.accept ? value : null;
  };
  commands.addCommand(CommandIDs.editProfile, {
    label: args =>
      args.name ? trans.__('Edit…') : trans.__('Add or Edit a Profile…'),
    caption: () =>
      isReadOnly()
        ? trans.__('You can watch this server, but not change its profiles.')
        : trans.__('Where ranks run: hosts, partition, environment'),
    icon: args => (args.toolbar ? editIcon : undefined),
    isEnabled: () => !isReadOnly(),
    execute: args =>
      reportErrors(trans, async () => {
        const title = trans.__('Add or edit a profile');
        const next = trans.__('Continue');
        const name = await nameOf(args.name, title, NameBody, next);
        if (name) {
          await editProfile(name, site, settings, trans);
        }
      }),
    describedBy
  });
  addDeleteCommand(commands, site, settings, trans, names => {
    const title = trans.__('Delete a profile');
    return nameOf(null, title, ChoiceBody, trans.__('Continue'), names);
  });
  commands.addCommand(CommandIDs.checkProfile, {
    label: args =>
      args.name ? trans.__('Check') : trans.__('Check a Profile…'),
    caption: () =>
      isReadOnly()
        ? trans.__('You can watch this server, but not check its profiles.')
        : trans.__('Ask every node whether ranks can run there'),
    icon: args => (args.toolbar ? checkIcon : undefined),
    isEnabled: () => !isReadOnly(),
    execute: args =>
      reportErrors(trans, async () => {
        const title = trans.__('Check a profile');
        const next = trans.__('Check');
        const name = await nameOf(args.name, title, ChoiceBody, next);
        if (name) {
          const asked = (): Promise<void> =>
            once(name, () => check(name, settings, trans));
          await reportErrors(trans, asked, name);
        }
      }),
    describedBy
  });
}

async function check(
  name: string,
  settings: ServerConnection.ISettings,
  trans: TranslationBundle
): Promise<void> {
  const path = '/profiles/{identity}/check';
  const asked = longWork<CheckedProfile, ProfileCheck>({
    settings,
    answer: request(settings, 'POST', path, { id: name }),
    again: () =>
      request(settings, 'GET', path, { id: name, query: { wait: '1' } }),
    resultOf: work => work.check,
    trans
  });
  const id = Notification.emit(
    trans.__('Asking the nodes of %1…', name),
    'in-progress',
    { autoClose: false }
  );
  let report: ProfileCheck;
  try {
    report = await asked; // it fails with a dialog, because a notification would truncate the hint
  } finally {
    // not updated: JupyterLab drops an update that comes before it has drawn the notification, its first one above all
    Notification.dismiss(id);
  }
  Notification.emit(
    reportInToast(name, report, trans),
    report.findings.length ? 'warning' : 'success',
    {
      autoClose: 2 * TOAST_MS,
      actions: [
        {
          label: trans.__('Details'),
          caption: trans.__('Show the nodes of %1', name),
          callback: () => void showReport(name, report, trans)
        }
      ]
    }
  );
}
