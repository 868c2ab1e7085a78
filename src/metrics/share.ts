import { TranslationBundle } from '@jupyterlab/translation';

import { VAGUE_SHARE } from '../api/thresholds';
import { IShownMetrics } from './currentMetrics';
import { errorPercent, formatShare, NBSP, UNKNOWN } from './format';

/** Whether a share is so uncertain that it is meaningless. */
export function isVague(error: number | null): boolean {
  return error !== null && error >= VAGUE_SHARE;
}

/**
 * The known end of a share whose error leads below 0 or above 100 %, in percent: a number outside of these would be
 * no share. Null if the error stays within.
 */
export function boundOf(
  share: number,
  error: number
): { most: number } | { least: number } | null {
  const percent = Math.round(share * 100);
  const off = errorPercent(error);
  return percent < off
    ? { most: percent + off }
    : percent + off > 100
      ? { least: percent - off }
      : null;
}

/** The error of a share, as text after the share: "± 6"; empty if the share is written as a bound, or has none. */
export function plusMinus(share: number | null, error: number | null): string {
  return share === null || !error || boundOf(share, error)
    ? ''
    : `± ${errorPercent(error)}`;
}

/**
 * "each ± 30", after the parts of a share that is written as a bound: beside "≥ 42 %", parts that add up to 72 % would
 * contradict it. Empty if the share's own text has its error, or there is none.
 */
export function errorOfParts(
  share: number | null,
  error: number | null,
  trans: TranslationBundle
): string {
  return share !== null && error && !isVague(error) && boundOf(share, error)
    ? trans.__('each ± %1', errorPercent(error))
    : '';
}

/** "± 6", after a part of a step that was measured by itself: parts add up, so that none is written as a bound. */
export function errorOfPart(error: number | null): string {
  return error ? `± ${errorPercent(error)}` : '';
}

/**
 * A share without its error: "44 %", "≤ 30 %" for 10 ± 20, "–" if unknown. Empty if it is too uncertain: a sentence
 * says so instead, and a dash before it would look like a minus sign.
 */
export function shareWithoutError(
  share: number | null,
  error: number | null
): string {
  if (share === null) {
    return UNKNOWN;
  }
  if (isVague(error)) {
    return '';
  }
  const bound = error ? boundOf(share, error) : null;
  return bound === null
    ? formatShare(share)
    : 'most' in bound
      ? `≤${NBSP}${bound.most}${NBSP}%`
      : `≥${NBSP}${bound.least}${NBSP}%`;
}

/** A share with its error, in running text: "44 % ± 6", "at most 30 %". */
export function shareInText(
  share: number | null,
  error: number | null,
  trans: TranslationBundle
): string {
  return share === null
    ? UNKNOWN
    : isVague(error)
      ? vagueText(trans)
      : knownShare(share, error, trans);
}

/** The same of a share that is known to be large, such as waiting for data, however large its error is. */
export function knownShare(
  share: number,
  error: number | null,
  trans: TranslationBundle
): string {
  const bound = error ? boundOf(share, error) : null;
  if (bound) {
    return 'most' in bound
      ? trans.__('at most %1', `${bound.most}${NBSP}%`)
      : trans.__('at least %1', `${bound.least}${NBSP}%`);
  }
  return [formatShare(share), plusMinus(share, error)]
    .filter(Boolean)
    .join(' ');
}

/** In place of a share that is too uncertain. */
export function vagueText(trans: TranslationBundle): string {
  return trans.__('too unsteady to tell');
}

/** "Last: 23 % ± 2", in place of a share of now; null if that is known, or no share ever was. */
export function lastShare(
  shown: IShownMetrics,
  measured: boolean,
  trans: TranslationBundle
): string | null {
  const { current, overhead, error, atLeast } = shown;
  if (current || overhead === null) {
    return null;
  }
  // a measured share of 0 has an error: it is a bound
  if (overhead === 0 && !error) {
    return trans.__('Last: no communication');
  }
  if (isVague(error)) {
    return trans.__('Last: %1', vagueText(trans));
  }
  if (measured) {
    return trans.__(
      'Measured: %1 of the step',
      shareInText(overhead, error, trans)
    );
  }
  return atLeast
    ? trans.__('Last: %1 of the step, or more', formatShare(overhead))
    : trans.__('Last: %1', shareInText(overhead, error, trans));
}
