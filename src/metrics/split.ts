import { TranslationBundle } from '@jupyterlab/translation';

import { LEAST_DATA } from '../api/thresholds';
import { Rank } from '../tokens';
import { formatShares } from './format';

/**
 * Parts of a step: data, own time, other waits, transfer, waiting for slower ranks; shares of the step, adding up
 * to 1.
 */
export interface ISplit {
  /** Waiting for the loader. */
  data: number;
  own: number;
  /** Waiting for something that is neither data nor a rank, where a verdict says so; else counted as own time. */
  asleep: number;
  transfer: number;
  waiting: number;
}

/** Parts of a bar, from left to right. */
export const PARTS = ['data', 'own', 'asleep', 'transfer', 'waiting'] as const;

/**
 * Parts of a step of a rank, or of the world, whose metrics are means over its ranks. Communication whose waiting is
 * unknown counts as transfer. Data is measured separately, so that it may be more than communication leaves.
 */
export function splitOf(
  of: Pick<
    Rank,
    'step_s' | 'comm_overhead' | 'transfer_s' | 'wait_s' | 'data_s' | 'asleep_s'
  >
): ISplit | null {
  const { step_s, comm_overhead } = of;
  if (!step_s || comm_overhead === null) {
    return null;
  }
  const share = (seconds: number | null): number => (seconds ?? 0) / step_s;
  const waits = Math.min(1 - comm_overhead, share(of.data_s));
  const data = waits < LEAST_DATA ? 0 : waits;
  const asleep = share(of.asleep_s);
  return {
    data,
    // what is sent is rounded
    own: Math.max(0, 1 - comm_overhead - data - asleep),
    asleep,
    transfer: of.transfer_s === null ? comm_overhead : share(of.transfer_s),
    waiting: share(of.wait_s)
  };
}

/** A part with its share: "compute 70 %". */
function partText(
  part: keyof ISplit,
  share: string,
  trans: TranslationBundle
): string {
  switch (part) {
    case 'data':
      return trans.__('waiting for data %1', share);
    case 'own':
      return trans.__('compute %1', share);
    case 'asleep':
      return trans.__('other waits %1', share);
    case 'transfer':
      return trans.__('transfer %1', share);
    default:
      return trans.__('waiting %1', share);
  }
}

/** What a part is, where its name says too little; undefined for the others. */
export function partTitle(
  part: string,
  asleep: boolean,
  trans: TranslationBundle
): string | undefined {
  switch (part) {
    case 'own':
      return asleep
        ? trans.__('The rest of the step, in which ranks run')
        : trans.__(
            'All of the step but communication and the loader: also a short sleep, or reading a file'
          );
    case 'asleep':
      return trans.__(
        'Ranks neither compute nor communicate, nor wait for the loader: look for sleeps, files, and requests over a network'
      );
    default:
      return undefined;
  }
}

/** The parts that are named, with their texts. */
export function namedParts(
  split: ISplit,
  trans: TranslationBundle
): { part: keyof ISplit; text: string }[] {
  const parts = PARTS.filter(
    part => !['data', 'asleep'].includes(part) || split[part] > 0
  );
  const shares = formatShares(parts.map(part => split[part]));
  return parts.map((part, i) => ({
    part,
    text: partText(part, shares[i], trans)
  }));
}
