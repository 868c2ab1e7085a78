import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { Profile } from '../../tokens';
import { Action } from '../../ui/actionButton';
import { openContextMenu } from '../../ui/menu';
import { AddProfile } from '../card/addProfile';
import { Problem } from './problem';

/** Profiles, with the actions for each. */
export function ProfileList(props: {
  profiles: readonly Profile[];
  mayWrite: boolean;
  commands: CommandRegistry;
  trans: TranslationBundle;
  /** Called when the pointer comes to the list. */
  onEnter?: () => void;
}): JSX.Element {
  const { profiles, mayWrite, commands, trans } = props;
  const run = (command: string, name: string): void =>
    void commands.execute(command, { name });
  return (
    <div
      className="jp-DtrainCluster-profileList"
      onPointerEnter={props.onEnter}
    >
      <ul className="jp-DtrainCluster-profiles">
        {profiles.map(({ name, backend, error, file }) => (
          <li
            key={name}
            onContextMenu={event =>
              openContextMenu(event, commands, [
                ...(error
                  ? []
                  : [
                      {
                        command: CommandIDs.startCluster,
                        args: { profile: name, ask: true }
                      }
                    ]),
                { command: CommandIDs.editProfile, args: { name } },
                { command: CommandIDs.checkProfile, args: { name } },
                { command: CommandIDs.deleteProfile, args: { name } }
              ])
            }
          >
            <span>
              <b>{name}</b>
              {!error && (
                <span className="jp-DtrainUi-under">
                  {file ? (backend ?? '') : trans.__('built in')}
                </span>
              )}
            </span>
            {mayWrite && commands.hasCommand(CommandIDs.editProfile) && (
              <span className="jp-DtrainUi-actions">
                <Action
                  label={trans.__('Check')}
                  title={trans.__('Can ranks run on %1?', name)}
                  onClick={() => run(CommandIDs.checkProfile, name)}
                />
                <Action
                  label={trans.__('Edit…')}
                  title={trans.__('Edit the profile %1', name)}
                  onClick={() => run(CommandIDs.editProfile, name)}
                />
              </span>
            )}
            {error && <Problem error={error} file={file} />}
          </li>
        ))}
      </ul>
      {mayWrite && <AddProfile commands={commands} trans={trans} />}
    </div>
  );
}
