import { TranslationBundle } from '@jupyterlab/translation';

import { VAGUE_SHARE } from '../../api/thresholds';
import { IShownFigures } from './currentMetrics';
import { errorPercent, formatShare, UNKNOWN } from './format';

/** Whether a share is so uncertain that it is meaningless. */
export function isVague(error: number | null): boolean {
  return error !== null && error >= VAGUE_SHARE;
}

/**
 * The error of a share, as text after the share: "± 6". It isn't clipped at 0 or 100 %, because a clipped
 * error would look smaller than it is.
 */
export function plusMinus(error: number): string {
  return `± ${errorPercent(error)}`;
}

/** A share without its error: "44 %"; empty if it is too uncertain. */
export function shareAsKnown(
  share: number | null,
  error: number | null
): string {
  return share === null || isVague(error) ? UNKNOWN : formatShare(share);
}

/** A share with its error, in running text: "44 % ± 6". */
export function shareInText(
  share: number | null,
  error: number | null,
  trans: TranslationBundle
): string {
  if (share !== null && isVague(error)) {
    return trans.__('too unsteady to tell');
  }
  const known = shareAsKnown(share, error);
  return share !== null && error ? `${known} ${plusMinus(error)}` : known;
}

/**
 * "too unsteady to tell (44 % ± 46)": directly after the dash for unknown values, a number would look
 * negative.
 */
export function vagueText(
  share: number,
  error: number,
  trans: TranslationBundle
): string {
  return trans.__(
    'too unsteady to tell (%1 %2)',
    formatShare(share),
    plusMinus(error)
  );
}

/**
 * "last: 23 % ± 2", beside the dash of a currently unknown share; null if it is known, or was never known.
 */
export function lastShare(
  shown: IShownFigures,
  measured: boolean,
  trans: TranslationBundle
): string | null {
  const { current, overhead, error, atLeast } = shown;
  if (current || overhead === null) {
    return null;
  }
  if (overhead === 0) {
    return trans.__('last: no communication');
  }
  if (isVague(error)) {
    return trans.__('last: %1', vagueText(overhead, error ?? 0, trans));
  }
  if (measured) {
    return trans.__(
      'measured: %1 of the step',
      shareInText(overhead, error, trans)
    );
  }
  return atLeast
    ? trans.__('last: %1 of the step, or more', formatShare(overhead))
    : trans.__('last: %1', shareInText(overhead, error, trans));
}
