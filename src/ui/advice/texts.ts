import { TranslationBundle } from '@jupyterlab/translation';

import { Advice } from '../../tokens';
import { formatCount, formatShare } from '../figures/format';

/** Advice in the user's language; the head's English text if its id is unknown. */
export function words(
  advice: Advice,
  trans: TranslationBundle
): { change: string; cost: string } {
  const number = (name: string): number => Number(advice.values?.[name] ?? 0);
  switch (advice.id) {
    case 'accumulate': {
      const batch = number('batch');
      const size = batch
        ? trans.__('Effective batch %1', formatCount(batch))
        : trans.__('Batch %1 times as large', number('times'));
      return {
        change: trans.__('Accumulate %1 batches', number('every')),
        cost: trans.__(
          '%1; scale the learning rate by %2.',
          size,
          number('times')
        )
      };
    }
    case 'bf16':
      return {
        change: trans.__('Send gradients in bf16'),
        cost: trans.__(
          'Each gradient takes 2 bytes instead of %1 and is rounded by up to 0.4 %.',
          number('item')
        )
      };
    case 'float32':
      return {
        change: trans.__('Train in float32 instead of float64'),
        cost: trans.__(
          'Numbers keep 7 digits instead of 16. Computation also becomes faster, which the estimate leaves out.'
        )
      };
    case 'workers':
      return {
        change: trans._n(
          'Read batches ahead with %1 worker process',
          'Read batches ahead with %1 worker processes',
          number('workers')
        ),
        cost: number('before')
          ? trans.__(
              'Instead of %1. Each process needs a core while it reads, and memory for 2 batches.',
              number('before')
            )
          : trans.__(
              'On each rank. Each process needs a core while it reads, and memory for 2 batches.'
            )
      };
    case 'own_code':
      return {
        change: trans.__(
          "Shorten your loop's own code: it takes %1 of a step",
          formatShare(number('share'))
        ),
        cost: trans.__(
          'It is neither the model, nor averaging, nor the loader: look for logging, sleeps, files, and metrics computed at each step.'
        )
      };
    case 'more_ranks':
      return {
        change: trans.__('More ranks will not help: training is input-bound'),
        cost: trans.__(
          'Each rank waits for data %1 of a step. Make reading faster first.',
          formatShare(number('share'))
        )
      };
    default:
      return advice;
  }
}

/** Number of the cell of the change, "[3]"; null if its place is unknown. */
export function cellOf({ diff, values }: Advice): string | null {
  const cell: unknown = values?.cell;
  return diff && typeof cell === 'string' ? cell : null;
}
