import { TranslationBundle } from '@jupyterlab/translation';

import { unbroken } from '../ui/metrics/format';
import { ILocation } from './location';

/** "cell [7]"; activities other than cells have their own name: "diagnosis". */
export function cellName(cell: string, trans: TranslationBundle): string {
  if (cell === 'diagnose') {
    return trans.__('diagnosis');
  }
  if (cell === 'try') {
    return trans.__('trial of a change');
  }
  if (cell === '%debug') {
    return trans.__('debugging');
  }
  return cell.startsWith('[') ? unbroken(trans.__('cell %1', cell)) : cell;
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
