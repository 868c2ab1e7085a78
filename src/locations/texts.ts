import { TranslationBundle } from '@jupyterlab/translation';

import { CellKind } from '../tokens';
import { unbroken } from '../metrics/format';
import { ILocation } from './location';

/**
 * "cell [7]"; what is queued as a cell and is none has a name of its own: "diagnosis".
 *
 * A post-mortem has that of the cell that has failed: "cell [7], after its failure".
 */
export function cellName(
  cell: string,
  trans: TranslationBundle,
  kind: CellKind = 'cell'
): string {
  switch (kind) {
    case 'diagnosis':
      return trans.__('diagnosis');
    case 'advice_trial':
      return trans.__('trial of a change');
    case 'post_mortem':
      // the order of a program, such as %debug, names no cell of a notebook
      return cell.startsWith('[')
        ? trans.__('%1, after its failure', cellName(cell, trans))
        : trans.__('debugging');
    default:
      return unbroken(trans.__('cell %1', cell));
  }
}

/** A place as text: "cell [7], line 6", "data.py, line 40"; null if unknown. */
export function locationText(
  place: ILocation | null | undefined,
  trans: TranslationBundle
): string | null {
  if (!place?.line) {
    return null;
  }
  if (place.cell) {
    return unbroken(trans.__('cell %1, line %2', place.cell, place.line));
  }
  const name = place.file?.split('/').pop();
  return name ? unbroken(trans.__('%1, line %2', name, place.line)) : null;
}
