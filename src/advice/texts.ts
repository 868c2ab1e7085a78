import { TranslationBundle } from '@jupyterlab/translation';

import { Advice } from '../tokens';
import { formatCount, formatShare } from '../metrics/format';
import { knownShare } from '../metrics/share';

/**
 * Advice in the user's language, as the head words it in English; that text if its id is unknown. A test compares
 * both.
 */
export function words(
  advice: Advice,
  trans: TranslationBundle
): { change: string; cost: string } {
  const number = (name: string): number => Number(advice.values?.[name] ?? 0);
  switch (advice.id) {
    case 'accumulate': {
      const batch = number('batch');
      const size = batch
        ? trans.__('The effective batch becomes %1', formatCount(batch))
        : trans.__('The batch becomes %1 times as large', number('times'));
      return {
        change:
          number('before') > 1
            ? trans._n(
                'Accumulate %1 batch instead of %2',
                'Accumulate %1 batches instead of %2',
                number('every'),
                number('before')
              )
            : trans._n(
                'Accumulate %1 batch',
                'Accumulate %1 batches',
                number('every')
              ),
        cost: trans.__(
          '%1: multiply the learning rate by %2 (linear scaling) or by %3 (square-root scaling).',
          size,
          number('times'),
          String(advice.values?.root)
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
        change: number('before')
          ? trans._n(
              'Read batches ahead with %1 worker process per rank instead of %2',
              'Read batches ahead with %1 worker processes per rank instead of %2',
              number('workers'),
              number('before')
            )
          : trans._n(
              'Read batches ahead with %1 worker process per rank',
              'Read batches ahead with %1 worker processes per rank',
              number('workers')
            ),
        cost: trans.__(
          'Each process needs memory for 2 batches, and a core while it computes, but not while it waits for a disk or a network.'
        )
      };
    case 'own_code':
      return {
        change: trans.__(
          "Shorten your loop's own code: it takes %1 of a step",
          knownShare(number('share'), number('error'), trans)
        ),
        cost: trans.__(
          'This is code outside of the model, the averaging of gradients and the data loader: look for logging, sleeps, files, and metrics computed at each step.'
        )
      };
    case 'slow_loader':
      return {
        change:
          advice.values?.peer === undefined
            ? trans.__(
                'Make the data loader of rank %1 faster: the others wait for it, %2 of a step',
                number('rank'),
                formatShare(number('share'))
              )
            : trans.__(
                'Make the data loader of rank %1 faster: rank %2 waits for it, %3 of a step',
                number('rank'),
                number('peer'),
                formatShare(number('share'))
              ),
        cost: trans.__(
          'In each step all ranks wait for the slowest loader, so more ranks will not help. The other loaders read ahead meanwhile and may be hardly faster: if all do the same work, all need more workers. Otherwise, look for what this one does and the others do not, such as reading from a slower disk, or larger files.'
        )
      };
    case 'more_ranks':
      return {
        change: trans.__('More ranks will not help: training is input-bound'),
        cost: trans.__(
          'Each rank waits for data %1 of a step. Make reading faster first.',
          knownShare(number('share'), number('error'), trans)
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
