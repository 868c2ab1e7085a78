import { TranslationBundle } from '@jupyterlab/translation';

import { Advice, Tried } from '../tokens';

/** Advice that ranks can try by themselves; the head refuses other advice with a sentence. */
const TRYABLE = ['accumulate', 'bf16', 'workers'];

/** Whether a change can be measured in steps that are taken back. */
export function isTryable(advice: Advice): boolean {
  return TRYABLE.includes(advice.id);
}

/** What a change has gained when it was tried, beside what was predicted. */
export function triedText(tried: Tried, trans: TranslationBundle): string {
  return trans.__(
    'Measured over %1 batches: %2 times as fast (predicted %3 ± %4).',
    tried.steps,
    tried.gain.toFixed(2),
    tried.predicted.toFixed(2),
    tried.predicted_error.toFixed(2)
  );
}
