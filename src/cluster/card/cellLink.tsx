import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import React from 'react';

import { CommandIDs } from '../../commands';
import { cellName } from '../../locations/texts';
import { CellKind } from '../../tokens';
import { unbroken } from '../../metrics/format';
import { CommandLink } from '../../ui/text/commandLink';

/** A cell of a notebook, with an optional line. */
export interface ICellLocation {
  cell: string;
  notebook?: string | null;
  cell_id?: string | null;
  line?: number | null;
  kind?: CellKind;
}

/** Link to a cell, labelled with its name. */
export function CellLink(props: {
  place: ICellLocation;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { place, commands, trans } = props;
  const text = place.line
    ? unbroken(trans.__('cell %1, line %2', place.cell, place.line))
    : cellName(place.cell, trans, place.kind);
  if (!place.notebook) {
    return <>{text}</>;
  }
  return (
    <CommandLink
      command={CommandIDs.showCell}
      args={{ ...place } as ReadonlyJSONObject}
      commands={commands}
      className="jp-DtrainUi-inText jp-DtrainUi-place"
    >
      {text}
    </CommandLink>
  );
}
