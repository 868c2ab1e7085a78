import { PathExt } from '@jupyterlab/coreutils';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import React from 'react';

import { CommandIDs } from '../commands';
import { CommandLink } from '../ui/text/commandLink';
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
  const args = { notebook, cell, cell_id, file, line } as ReadonlyJSONObject;
  const at = file ?? notebook ?? undefined;
  const title =
    cell && props.byPosition
      ? trans.__(
          'The cell is number %1 in the executed notebook. In %2, its number may differ.',
          cell,
          at ? PathExt.basename(at) : trans.__('the open notebook')
        )
      : at;
  return (
    <CommandLink
      command={CommandIDs.goToLocation}
      args={{ ...args, byPosition: !!props.byPosition }}
      commands={commands}
      title={title}
      wraps
    >
      {words}
    </CommandLink>
  );
}
