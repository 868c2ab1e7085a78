import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { CommandIDs } from '../../commands';
import { request } from '../../request/rest';
import { ISite } from '../../tokens';
import { tellBriefly } from '../../ui/text/toast';
import { confirmLoss } from '../dialogs/dialogs';
import { reportErrors } from '../dialogs/reportErrors';
import { DEFAULT_PROFILE, isBuiltIn } from '../model/site';

/** Delete a profile's file once the user has confirmed that; resolves to whether it is deleted. */
export async function deleteProfile(
  name: string,
  site: ISite,
  settings: ServerConnection.ISettings,
  trans: TranslationBundle
): Promise<boolean> {
  const sure = await confirmLoss(
    trans.__('Delete the profile %1?', name),
    name === DEFAULT_PROFILE
      ? trans.__(
          'Its file is removed, and %1 is the built-in profile again. Clusters and jobs that use it keep running.',
          name
        )
      : trans.__(
          'Its file is removed. Clusters and jobs that use it keep running; new ones can no longer choose it.'
        ),
    trans.__('Delete'),
    trans
  );
  if (sure) {
    const path = '/profiles/{identity}';
    site.setProfiles(await request(settings, 'DELETE', path, { id: name }));
    tellBriefly(trans.__('%1 is deleted.', name));
  }
  return sure;
}

/**
 * The command that deletes a profile's file.
 *
 * @param chosen - asks the user for one of these profiles; null if none was chosen
 */
export function addDeleteCommand(
  commands: CommandRegistry,
  site: ISite,
  settings: ServerConnection.ISettings,
  trans: TranslationBundle,
  chosen: (names: readonly string[]) => Promise<string | null>
): void {
  const deletable = (): string[] =>
    site.profiles.filter(p => p.file !== null).map(p => p.name);
  const whyNot = (name: unknown): string | null => {
    if (site.facts?.may_write === false) {
      return trans.__(
        'You can watch this server, but not delete its profiles.'
      );
    }
    if (typeof name === 'string' && isBuiltIn(site.profiles, name)) {
      return trans.__("%1 is built in: it can't be deleted.", name);
    }
    return deletable().length
      ? null
      : trans.__("There is only the built-in profile, which can't be deleted.");
  };
  commands.addCommand(CommandIDs.deleteProfile, {
    label: args =>
      args.name ? trans.__('Delete…') : trans.__('Delete a Profile…'),
    caption: ({ name }) =>
      whyNot(name) ??
      trans.__(
        'Remove the file of a profile; clusters and jobs that use it keep running'
      ),
    isEnabled: ({ name }) => whyNot(name) === null,
    execute: args =>
      reportErrors(trans, async () => {
        const name =
          typeof args.name === 'string' ? args.name : await chosen(deletable());
        if (name !== null) {
          await deleteProfile(name, site, settings, trans);
        }
      }),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          name: {
            type: 'string',
            description: 'Name of the profile; if missing, the user is asked'
          }
        }
      }
    }
  });
}
