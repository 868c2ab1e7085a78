import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import React from 'react';

import { ENDED } from '../../api/states';
import { CommandIDs } from '../../commands';
import { cellName } from '../../locations/texts';
import { CellKind, Cluster, IKernelRecords } from '../../tokens';
import { listed, unbroken } from '../../metrics/format';
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

/** Which cells wait for ranks, of whichever notebook: "Cell [4] of train.ipynb waits."; empty if none does. */
function waitingText(
  cluster: Cluster,
  records: Pick<IKernelRecords, 'notebookName'>,
  trans: TranslationBundle
): string {
  if (ENDED.includes(cluster.state)) {
    return '';
  }
  // a diagnosis and its like have a sentence of their own
  const cells = cluster.waiting.filter(({ kind }) => kind === 'cell');
  const paths = cells.flatMap(({ notebook }) => notebook ?? []);
  const names = [...new Set(paths.map(path => records.notebookName(path)))];
  const notebooks = listed(names, trans);
  const count = cells.length;
  if (!count) {
    return '';
  }
  if (!names.length) {
    return trans._n('%1 cell waits.', '%1 cells wait.', count);
  }
  return count === 1
    ? trans.__('Cell %1 of %2 waits.', cells[0].cell, notebooks)
    : trans._n(
        '%1 cell of %2 waits.',
        '%1 cells of %2 wait.',
        count,
        notebooks
      );
}

/** Which cells wait for ranks. */
export function WaitingCells(props: {
  cluster: Cluster;
  records: Pick<IKernelRecords, 'notebookName'>;
  trans: TranslationBundle;
}): JSX.Element | null {
  const text = waitingText(props.cluster, props.records, props.trans);
  return text ? <p className="jp-DtrainUi-under">{text}</p> : null;
}
