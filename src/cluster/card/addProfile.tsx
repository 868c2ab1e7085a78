import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';

/** The link that makes a profile. */
export function AddProfile(props: {
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { commands, trans } = props;
  return !commands.hasCommand(CommandIDs.editProfile) ? null : (
    <p className="jp-DtrainUi-links">
      <button
        type="button"
        className="jp-DtrainUi-link"
        onClick={() => void commands.execute(CommandIDs.editProfile)}
      >
        {trans.__('Add a profile…')}
      </button>
    </p>
  );
}
