import { Cell, ICodeCellModel } from '@jupyterlab/cells';

import { RUN_KEY } from '../output/runs/storedRun';
import {
  goToCell,
  indexIn,
  IOpener,
  showNotebook,
  tellCellGone
} from '../locations/open';

/** A cell, as a cluster identifies it. */
export interface ICell {
  notebook: string;
  cell_id?: string | null;
  /** "[7]": the execution count. */
  cell?: string | null;
  /** From 1, the magic's line included. */
  line?: number | null;
}

/** Show a notebook at a cell and a line; by default the last cell that ran on ranks. */
export async function showCell(place: ICell, opener: IOpener): Promise<void> {
  const panel = await showNotebook(place.notebook, opener);
  if (!panel) {
    return;
  }
  const index =
    place.cell_id || place.cell
      ? indexIn(panel, place)
      : lastOfRanks(panel.content.widgets);
  if (index < 0 && place.cell) {
    tellCellGone(panel, place.cell, opener.trans);
  }
  await goToCell(panel, index, place.line);
}

/** Index of the last cell with output of ranks; −1 if there is none. */
export function lastOfRanks(cells: readonly Pick<Cell, 'model'>[]): number {
  return cells.reduce((found, { model }, i) => {
    const ran = model.type === 'code' && model.getMetadata(RUN_KEY);
    return ran && (model as ICodeCellModel).outputs.length ? i : found;
  }, -1);
}
