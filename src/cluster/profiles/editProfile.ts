import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { request, RequestError } from '../../request/rest';
import { ApiError, ISite } from '../../tokens';
import { tellBriefly } from '../../ui/text/toast';
import { confirmLoss } from '../dialogs/dialogs';
import { deleteProfile } from './deleteProfile';
import { Editor, ProfileDialog } from './editor';

const PATH = '/profiles/{identity}';

/** Edit a profile's text until it is saved or deleted, or the user gives up; edited text is not lost unasked. */
export async function editProfile(
  name: string,
  site: ISite,
  settings: ServerConnection.ISettings,
  trans: TranslationBundle
): Promise<void> {
  const file = await request(settings, 'GET', PATH, { id: name });
  const { keys } = file;
  const saved = file.text.replace(/\r\n?/g, '\n'); // as the field has it
  const listed = () => site.profiles.find(p => p.name === name);
  const known = listed()?.error;
  let error = known ? errorText(known) : '';
  let text = saved;
  let editor: Editor | null = null;
  for (;;) {
    editor = new Editor({ text, error, keys }, trans, editor);
    const deletes = !!listed()?.file;
    const end = await new ProfileDialog(name, editor, deletes, trans).ended();
    text = editor.getValue();
    if (end === 'delete') {
      let deleted = false;
      const wrong = await failure(async () => {
        deleted = await deleteProfile(name, site, settings, trans);
      }, trans);
      if (deleted) {
        return;
      }
      error = wrong || error;
    } else if (end === 'cancel') {
      if (text === saved || (await discards(name, trans))) {
        return;
      }
    } else {
      // the text stays in the field, with what is wrong above
      error = await failure(() => save(name, text, site, settings), trans);
      if (!error) {
        tellBriefly(trans.__('%1 is saved.', name));
        return;
      }
    }
  }
}

/** Whether the user gives up what was edited. */
function discards(name: string, trans: TranslationBundle): Promise<boolean> {
  return confirmLoss(
    trans.__('Discard your changes to the profile %1?', name),
    trans.__('They are not saved.'),
    trans.__('Discard'),
    trans,
    trans.__('Keep editing')
  );
}

async function save(
  name: string,
  text: string,
  site: ISite,
  settings: ServerConnection.ISettings
): Promise<void> {
  const changed = { id: name, body: { text } };
  site.setProfiles(await request(settings, 'PUT', PATH, changed));
}

/** Why an action failed, also where the server didn't answer; empty if it succeeded. */
async function failure(
  act: () => Promise<void>,
  trans: TranslationBundle
): Promise<string> {
  try {
    await act();
    return '';
  } catch (error) {
    return error instanceof RequestError
      ? errorText(error.body)
      : trans.__(
          'The request failed. %1',
          error instanceof Error ? error.message : String(error)
        );
  }
}

/** All that is wrong with a profile, a line each. */
export function errorText(
  error: Pick<ApiError, 'message' | 'hint' | 'details'>
): string {
  const also = (error.details.also ?? []) as { message: string; fix: string }[];
  return [
    `${error.message} ${error.hint}`,
    ...also.map(other => `${other.message} ${other.fix}`)
  ].join('\n');
}
