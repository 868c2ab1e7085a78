import { TranslationBundle } from '@jupyterlab/translation';

import { Advice, Tried } from '../tokens';
import { formatShare } from './format';

/** Share of a gain from which its error is told in a title. */
const ROUGH = 0.5;

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
    return trans.__('%1: no faster when it was tried', change);
  }
  const gain = tried?.gain ?? advice.gain;
  if (gain <= 1) {
    return change;
  }
  const more = formatShare(gain - 1);
  if (tried) {
    return trans.__('%1: %2 faster, measured', change, more);
  }
  return advice.gain_error < ROUGH * (gain - 1)
    ? trans.__('%1: about %2 faster', change, more)
    : trans.__(
        '%1: about %2 faster, ± %3',
        change,
        more,
        Math.round(advice.gain_error * 100)
      );
}

/** What a change has gained when it was tried, beside what was predicted. */
export function triedText(tried: Tried, trans: TranslationBundle): string {
  return trans.__(
    'Measured over %1 batches: %2 ± %3 times as fast (predicted %4 ± %5).',
    tried.steps,
    tried.gain.toFixed(2),
    tried.gain_error.toFixed(2),
    tried.predicted.toFixed(2),
    tried.predicted_error.toFixed(2)
  );
}
