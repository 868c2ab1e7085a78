import { TranslationBundle } from '@jupyterlab/translation';

import {
  FEW_BATCHES,
  LEAST_GAIN,
  ROUGH_GAIN,
  TIMES_GAIN,
  WIDE_GAIN
} from '../api/thresholds';
import { Advice, Tried } from '../tokens';
import {
  errorPercent,
  formatCount,
  formatFixed,
  formatRate,
  formatShare
} from '../metrics/format';

/**
 * How well a gain is known: well, by a range, by a range that says too little, or only that there may be one.
 * Texts as in `dtrain_lab/metrics/advice/wording.py`; a test compares them.
 */
type Sureness = 'sure' | 'rough' | 'vague' | 'unsure';

function sureness(gain: number, error: number): Sureness {
  return error >= gain - 1
    ? 'unsure'
    : error >= WIDE_GAIN * (gain - 1)
      ? 'vague'
      : error >= ROUGH_GAIN * (gain - 1)
        ? 'rough'
        : 'sure';
}

/** Whether the trial of a change has gained more than the error of its measurement. */
export function helped(tried: Tried): boolean {
  return tried.gain - 1 > tried.gain_error;
}

/** The title of advice: the change with its gain, measured if it was tried. */
export function adviceTitle(
  change: string,
  { gain, gain_error, tried }: Advice,
  trans: TranslationBundle
): string {
  const gainText = tried
    ? fasterWhenTried(tried, trans)
    : faster(gain, gain_error, trans);
  return gainText ? trans.__('%1: %2', change, gainText) : change;
}

/** How much faster a change is predicted to be, as precisely as it is known; empty for no gain. */
function faster(gain: number, error: number, trans: TranslationBundle): string {
  if (gain <= 1) {
    return '';
  }
  switch (sureness(gain, error)) {
    case 'unsure':
      return trans.__('may be faster');
    case 'vague':
      return trans.__('probably faster');
    case 'rough':
      return gain >= TIMES_GAIN
        ? trans.__('%1 to %2 times as fast', ...timesRange(gain, error))
        : trans.__('%1 to %2 faster', ...percentRange(gain, error));
    default:
      return gain >= TIMES_GAIN
        ? trans.__('about %1 times as fast', formatFixed(gain, 1))
        : trans.__('about %1 faster', formatShare(gain - 1));
  }
}

/** How much faster a change was when it was tried, and with how many ranks, if there are as many no more. */
function fasterWhenTried(tried: Tried, trans: TranslationBundle): string {
  const gain = whenTried(tried, trans);
  const { other_ranks: ranks } = tried;
  return ranks === null
    ? gain
    : trans._n('%2 with %1 rank', '%2 with %1 ranks', ranks, gain);
}

/** How much faster a change was when it was tried, as precisely as it was measured. */
function whenTried(tried: Tried, trans: TranslationBundle): string {
  const { gain, gain_error: error } = tried;
  if (!helped(tried)) {
    return gain < 1 + LEAST_GAIN
      ? trans.__('no faster when tried')
      : trans.__('not clearly faster when tried');
  }
  const times = gain >= TIMES_GAIN;
  switch (sureness(gain, error)) {
    case 'sure':
      return times
        ? trans.__(
            '%1 ± %2 times as fast when tried',
            formatFixed(gain, 1),
            formatFixed(Math.max(0.1, error), 1)
          )
        : trans.__(
            '%1 ± %2 faster when tried',
            formatShare(gain - 1),
            errorPercent(error)
          );
    case 'rough':
      return times
        ? trans.__(
            '%1 to %2 times as fast when tried',
            ...timesRange(gain, error)
          )
        : trans.__('%1 to %2 faster when tried', ...percentRange(gain, error));
    default:
      return trans.__('faster when tried');
  }
}

function timesRange(gain: number, error: number): [string, string] {
  return [formatFixed(gain - error, 1), formatFixed(gain + error, 1)];
}

function percentRange(gain: number, error: number): [string, string] {
  const least = Math.max(1, Math.round((gain - 1 - error) * 100));
  return [`${least}`, formatShare(gain - 1 + error)];
}

/** What is known of the gain beside the title; empty if that says all. */
export function gainNote(
  { gain, gain_error, tried }: Advice,
  trans: TranslationBundle
): string {
  if (tried) {
    return triedText(tried, trans);
  }
  return gain > 1 && ['vague', 'unsure'].includes(sureness(gain, gain_error))
    ? trans.__('Steps are too unsteady now to tell by how much.')
    : '';
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
  const { gain, gain_error: error, tried } = advice;
  const sure = sureness(gain, error);
  if (
    tried ||
    gain <= 1 ||
    rate === null ||
    !['sure', 'rough'].includes(sure)
  ) {
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

/** How the gain of a change was measured, and what was predicted. */
function triedText(tried: Tried, trans: TranslationBundle): string {
  const batches = batchesText(tried, trans);
  const factor = factorText(tried, trans);
  const found = factor ? trans.__('%1: %2', batches, factor) : batches;
  const measured =
    tried.steps < FEW_BATCHES
      ? trans.__('Measured over only %1.', found)
      : trans.__('Measured over %1.', found);
  const predicted = faster(tried.predicted, tried.predicted_error, trans);
  return predicted
    ? trans.__('%1 Predicted: %2.', measured, predicted)
    : measured;
}

/** The measured gain with its error; empty where the title has it. */
function factorText(tried: Tried, trans: TranslationBundle): string {
  const { gain, gain_error: error } = tried;
  return helped(tried) && sureness(gain, error) !== 'vague'
    ? ''
    : trans.__(
        '%1 ± %2 times as fast',
        formatFixed(gain, 2),
        formatFixed(Math.max(0.01, error), 2)
      );
}

/** The batches that were timed, and how the change was made in them. */
function batchesText({ steps, way }: Tried, trans: TranslationBundle): string {
  const count = formatCount(steps);
  switch (way) {
    case 'loop':
      return trans._n(
        '%2 batch with the loop changed',
        '%2 batches with the loop changed',
        steps,
        count
      );
    case 'optimize':
      return trans._n(
        '%2 batch with dt.optimize',
        '%2 batches with dt.optimize',
        steps,
        count
      );
    default:
      return trans._n('%2 batch', '%2 batches', steps, count);
  }
}
