import { TranslationBundle } from '@jupyterlab/translation';

import {
  FEW_BATCHES,
  LEAST_GAIN,
  ROUGH_GAIN,
  TIMES_GAIN
} from '../../api/thresholds';
import { Advice, Tried } from '../../tokens';
import {
  errorPercent,
  formatFixed,
  formatRate,
  formatShare
} from '../figures/format';

/** How well a gain is known: well, roughly, or only that there may be one. */
type Sureness = 'sure' | 'rough' | 'unsure';

function sureness(gain: number, error: number): Sureness {
  return error < ROUGH_GAIN * (gain - 1)
    ? 'sure'
    : error < gain - 1
      ? 'rough'
      : 'unsure';
}

/** Whether the trial of a change has gained more than the error of its measurement. */
export function helped(tried: Tried): boolean {
  return tried.gain - 1 > tried.gain_error;
}

/** The title of advice: its gain, measured if it was tried. */
export function adviceTitle(
  change: string,
  advice: Advice,
  trans: TranslationBundle
): string {
  const { tried } = advice;
  if (tried && !helped(tried)) {
    return tried.gain < 1 + LEAST_GAIN
      ? trans.__('%1: no faster when tried', change)
      : trans.__('%1: not clearly faster when tried', change);
  }
  const { gain, gain_error: error } = tried ?? advice;
  if (gain <= 1) {
    return change;
  }
  if (gain >= TIMES_GAIN && gain - 1 > error) {
    return timesTitle(change, advice, trans);
  }
  const more = formatShare(gain - 1);
  switch (sureness(gain, error)) {
    case 'sure':
      return tried
        ? trans.__(
            '%1: %2 ± %3 faster, measured',
            change,
            more,
            errorPercent(error)
          )
        : trans.__('%1: about %2 faster', change, more);
    case 'rough': {
      const least = Math.max(1, Math.round((gain - 1 - error) * 100));
      const most = formatShare(gain - 1 + error);
      return tried
        ? trans.__('%1: %2 to %3 faster, measured', change, least, most)
        : trans.__('%1: %2 to %3 faster', change, least, most);
    }
    default:
      return trans.__('%1: may be faster', change);
  }
}

/** As `adviceTitle`, for a gain that is better written as a factor. */
function timesTitle(
  change: string,
  { tried, ...promised }: Advice,
  trans: TranslationBundle
): string {
  const { gain, gain_error: error } = tried ?? promised;
  const [least, most] = [gain - error, gain + error].map(g =>
    formatFixed(g, 1)
  );
  if (sureness(gain, error) === 'rough') {
    return tried
      ? trans.__('%1: %2 to %3 times as fast, measured', change, least, most)
      : trans.__('%1: %2 to %3 times as fast', change, least, most);
  }
  return tried
    ? trans.__(
        '%1: %2 ± %3 times as fast, measured',
        change,
        formatFixed(gain, 1),
        formatFixed(Math.max(0.1, error), 1)
      )
    : trans.__('%1: about %2 times as fast', change, formatFixed(gain, 1));
}

/**
 * The rate that a change would give, as far as known; empty once it was tried.
 *
 * @param last - whether it is the rate of a loop that has ended.
 */
export function rateText(
  advice: Advice,
  rate: number | null,
  last: boolean,
  trans: TranslationBundle
): string {
  const { gain, gain_error: error, tried, tryable } = advice;
  if (tried || gain <= 1) {
    return '';
  }
  const sure = sureness(gain, error);
  if (sure === 'unsure') {
    return tryable
      ? trans.__(
          'Steps are too unsteady now to tell by how much; Try it measures it.'
        )
      : trans.__('Steps are too unsteady now to tell by how much.');
  }
  if (rate === null) {
    return '';
  }
  const then =
    sure === 'sure'
      ? formatRate(rate * gain)
      : trans.__(
          '%1 to %2',
          formatRate(rate * (gain - error)),
          formatRate(rate * (gain + error))
        );
  return last
    ? trans.__('Last run: %1 → %2 samples/s.', formatRate(rate), then)
    : trans.__('%1 → %2 samples/s.', formatRate(rate), then);
}

/** Measured gain of a change, compared with the prediction. */
export function triedText(tried: Tried, trans: TranslationBundle): string {
  const values = [
    batchesText(tried, trans),
    formatFixed(tried.gain, 2),
    formatFixed(tried.gain_error, 2),
    formatFixed(tried.predicted, 2),
    formatFixed(tried.predicted_error, 2)
  ];
  return tried.steps < FEW_BATCHES
    ? trans.__(
        'Measured over %1, which are few: %2 ± %3 times as fast (predicted %4 ± %5).',
        ...values
      )
    : trans.__(
        'Measured over %1: %2 ± %3 times as fast (predicted %4 ± %5).',
        ...values
      );
}

/** The batches that were timed, and how the change was made in them. */
function batchesText({ steps, way }: Tried, trans: TranslationBundle): string {
  switch (way) {
    case 'loop':
      return trans.__('%1 batches with the loop changed', steps);
    case 'optimize':
      return trans.__('%1 batches with dt.optimize', steps);
    default:
      return trans.__('%1 batches', steps);
  }
}
