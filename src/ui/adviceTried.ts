import { TranslationBundle } from '@jupyterlab/translation';

import { Advice, Tried } from '../tokens';
import { formatRate, formatShare } from './format';

/** Share of a gain from which its error is told in a title, as a range. */
const ROUGH = 0.5;
/** Fewer batches than these are few, as the head says it. */
const FEW = 12;
/** Least gain that is one. */
const LEAST = 0.03;

/** How well a predicted gain is known: well, roughly, or only that there may be one. */
export type Sureness = 'sure' | 'rough' | 'unsure';

export function sureness(advice: Advice): Sureness {
  const more = advice.gain - 1;
  return advice.gain_error < ROUGH * more
    ? 'sure'
    : advice.gain_error < more
      ? 'rough'
      : 'unsure';
}

/** Whether a change has surely made training faster when it was tried. */
export function helped(tried: Tried): boolean {
  return tried.gain - 1 > tried.gain_error;
}

/** The title of advice: what it brings, as measured once it was tried. */
export function adviceTitle(
  change: string,
  advice: Advice,
  trans: TranslationBundle
): string {
  const { tried } = advice;
  if (tried && !helped(tried)) {
    return tried.gain < 1 + LEAST
      ? trans.__('%1: no faster when it was tried', change)
      : trans.__('%1: not surely faster when it was tried', change);
  }
  const gain = tried?.gain ?? advice.gain;
  if (gain <= 1) {
    return change;
  }
  const more = formatShare(gain - 1);
  if (tried) {
    return trans.__('%1: %2 faster, measured', change, more);
  }
  switch (sureness(advice)) {
    case 'sure':
      return trans.__('%1: about %2 faster', change, more);
    case 'rough':
      return trans.__(
        '%1: %2 to %3 faster',
        change,
        Math.max(1, Math.round((gain - 1 - advice.gain_error) * 100)),
        formatShare(gain - 1 + advice.gain_error)
      );
    default:
      return trans.__('%1: may be faster', change);
  }
}

/** What a change would make of today's rate, as far as that can be told; empty once it was tried. */
export function rateText(
  advice: Advice,
  rate: number | null,
  trans: TranslationBundle
): string {
  const { gain, gain_error: error, tried, tryable } = advice;
  if (tried || gain <= 1) {
    return '';
  }
  const sure = sureness(advice);
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
  return sure === 'sure'
    ? trans.__('%1 → %2 samples/s.', formatRate(rate), formatRate(rate * gain))
    : trans.__(
        '%1 → %2 to %3 samples/s.',
        formatRate(rate),
        formatRate(rate * (gain - error)),
        formatRate(rate * (gain + error))
      );
}

/** What a change has gained when it was tried, beside what was predicted. */
export function triedText(tried: Tried, trans: TranslationBundle): string {
  const values = [
    tried.steps,
    tried.gain.toFixed(2),
    tried.gain_error.toFixed(2),
    tried.predicted.toFixed(2),
    tried.predicted_error.toFixed(2)
  ];
  return tried.steps < FEW
    ? trans.__(
        'Measured over %1 batches, which are few: %2 ± %3 times as fast (predicted %4 ± %5).',
        ...values
      )
    : trans.__(
        'Measured over %1 batches: %2 ± %3 times as fast (predicted %4 ± %5).',
        ...values
      );
}
