import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import React from 'react';

import { CommandIDs } from '../commands';
import { ILocation } from './location';
import { locationText } from './texts';

/** Link that opens a place: the notebook scrolls to its cell and line, a file opens at its line. */
export function LocationLink(props: {
  place: ILocation;
  commands: CommandRegistry;
  trans: TranslationBundle;
  /** Cell numbers are positions, as in a job's notebook. */
  byPosition?: boolean;
}): JSX.Element | null {
  const { place, commands, trans } = props;
  const words = locationText(place, trans);
  if (words === null) {
    return null;
  }
  const { notebook, cell, cell_id, file, line } = place;
  const args = { notebook, cell, cell_id, file, line };
  return (
    // not a button, so that its text wraps like the text around it
    <a
      href="#"
      className="jp-DtrainUi-link"
      title={file ?? notebook ?? undefined}
      onClick={event => {
        event.preventDefault();
        void commands.execute(CommandIDs.goToLocation, {
          ...(args as ReadonlyJSONObject),
          byPosition: !!props.byPosition
        });
      }}
    >
      {words}
    </a>
  );
}
