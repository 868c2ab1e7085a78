import { TranslationBundle } from '@jupyterlab/translation';

import { ROUGH_SHARE, VAGUE_SHARE } from '../api/thresholds';
import { errorPercent, formatShare, NBSP, UNKNOWN } from './format';

/** Whether a share is so uncertain that it tells nothing. */
export function isVague(error: number | null): boolean {
  return error !== null && error >= VAGUE_SHARE;
}

/** Whether a share is told as a range. */
export function isRough(error: number | null): boolean {
  return error !== null && error >= ROUGH_SHARE;
}

/** A share as well as it is known: "44 %", "29–59 %", and nothing where its error is as large as itself. */
export function shareAsKnown(
  share: number | null,
  error: number | null
): string {
  if (share === null || isVague(error)) {
    return UNKNOWN;
  }
  return error !== null && isRough(error)
    ? range(share, error)
    : formatShare(share);
}

/** `shareAsKnown` in running text, with an error that is small: "44 % ± 6". */
export function shareInText(
  share: number | null,
  error: number | null,
  trans: TranslationBundle
): string {
  if (share !== null && isVague(error)) {
    return trans.__('too unsteady to tell');
  }
  const known = shareAsKnown(share, error);
  return share !== null && error && !isRough(error)
    ? `${known} ± ${errorPercent(error)}`
    : known;
}

/** "44 % ± 46: too unsteady to tell". */
export function vagueText(
  share: number,
  error: number,
  trans: TranslationBundle
): string {
  return trans.__(
    '%1 ± %2: too unsteady to tell',
    formatShare(share),
    errorPercent(error)
  );
}

function range(share: number, error: number): string {
  const percent = (value: number): number =>
    Math.round(100 * Math.min(1, Math.max(0, value)));
  return `${percent(share - error)}–${percent(share + error)}${NBSP}%`;
}
