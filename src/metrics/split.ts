import { TranslationBundle } from '@jupyterlab/translation';

import { Rank } from '../tokens';
import { formatRanks, formatShares } from './format';
import { isVague } from './share';

/** Parts of a step, from left to right in a bar. */
export const PARTS = [
  'data',
  'own',
  'asleep',
  'transfer',
  'waiting',
  'optimizer',
  'other'
] as const;

/**
 * A part of a step: the loader; forward and backward; waits for something that is neither data nor a rank, where a
 * verdict says so; transfer; waiting for slower ranks; the optimizer; the rest.
 */
export type StepPart = (typeof PARTS)[number];

/** The parts of a step as shares of it, which add up to 1. */
export type ISplit = Record<StepPart, number>;

/** Parts that a legend names also where there is nothing of them. */
const ALWAYS: readonly StepPart[] = ['own', 'transfer', 'waiting'];

/**
 * Parts of a step of a rank, or of the world, whose metrics are means over its ranks; null if unknown.
 *
 * Transfer and waiting are the communication that is displayed everywhere else; communication that isn't known to be
 * waiting counts as transfer. The other parts are measured separately: if they add up to more than the rest of the
 * step, they are scaled down together. A loop that waits for something else does so in these parts: it is taken out of
 * the rest, and then out of the computation.
 */
export function splitOf(
  of: Pick<
    Rank,
    | 'step_s'
    | 'comm_overhead'
    | 'transfer_s'
    | 'wait_s'
    | 'data_s'
    | 'compute_s'
    | 'optimizer_s'
    | 'asleep_s'
  >
): ISplit | null {
  const { step_s, comm_overhead } = of;
  if (!step_s || comm_overhead === null) {
    return null;
  }
  const share = (seconds: number | null): number => (seconds ?? 0) / step_s;
  const waiting = share(of.wait_s);
  const transfer =
    of.transfer_s === null
      ? Math.max(0, comm_overhead - waiting)
      : share(of.transfer_s);
  const [data, compute, optimizer] = [
    share(of.data_s),
    share(of.compute_s),
    share(of.optimizer_s)
  ];
  const sum = data + compute + optimizer;
  const room = Math.max(0, 1 - transfer - waiting);
  const scale = sum > room ? room / sum : 1;
  const rest = Math.max(0, room - sum);
  const asleep = Math.min(share(of.asleep_s), rest + compute * scale);
  return {
    data: data * scale,
    own: compute * scale - Math.max(0, asleep - rest),
    asleep,
    transfer,
    waiting,
    optimizer: optimizer * scale,
    other: Math.max(0, rest - asleep)
  };
}

/**
 * The parts of a step, to be shown: null also where communication is too unsteady to tell, as each part is then as
 * uncertain. The only source of all bars, legends and columns of parts.
 */
export function shownSplit(
  of: Parameters<typeof splitOf>[0] & Pick<Rank, 'comm_overhead_error'>
): ISplit | null {
  return isVague(of.comm_overhead_error) ? null : splitOf(of);
}

/** Whether a step is known, and its parts are not shown as they are too unsteady to tell. */
export function isSplitVague(of: Parameters<typeof shownSplit>[0]): boolean {
  return splitOf(of) !== null && shownSplit(of) === null;
}

/** The name of a part. */
export function partName(part: StepPart, trans: TranslationBundle): string {
  switch (part) {
    case 'data':
      return trans.__('data');
    case 'own':
      return trans.__('forward, backward');
    case 'asleep':
      return trans.__('other waits');
    case 'transfer':
      return trans.__('transfer');
    case 'waiting':
      return trans.__('waiting');
    case 'optimizer':
      return trans.__('optimizer');
    default:
      return trans.__('other');
  }
}

/**
 * What a part is, where its name says too little; undefined for the others.
 *
 * @param asleep - whether other waits are a part of their own.
 */
export function partTitle(
  part: StepPart,
  asleep: boolean,
  trans: TranslationBundle
): string | undefined {
  switch (part) {
    case 'data':
      return trans.__('Waiting for the data loader');
    case 'own':
      return asleep
        ? trans.__('All that runs between them')
        : trans.__('All between them, also a short sleep');
    case 'asleep':
      return trans.__(
        'Ranks neither compute nor communicate, nor wait for the loader: look for sleeps, files, and requests over a network'
      );
    case 'waiting':
      return trans.__('Waiting for slower ranks');
    case 'other':
      return asleep
        ? trans.__('The rest of the step, in which ranks run')
        : trans.__(
            'The rest of the step: other code of the loop, also a short sleep, or reading a file'
          );
    default:
      return undefined;
  }
}

/** The share of each part as text: the same in all legends, and 100 % together. */
export function shareTexts(split: ISplit): Record<StepPart, string> {
  const shares = formatShares(PARTS.map(part => split[part]));
  return Object.fromEntries(
    PARTS.map((part, i) => [part, shares[i]])
  ) as Record<StepPart, string>;
}

/** The parts that a legend without times names, with their shares: "forward, backward 70 %". */
export function namedParts(
  split: ISplit,
  trans: TranslationBundle
): { part: StepPart; text: string }[] {
  const shares = shareTexts(split);
  return PARTS.filter(
    part => ALWAYS.includes(part) || !/^0\s/.test(shares[part])
  ).map(part => ({ part, text: `${partName(part, trans)} ${shares[part]}` }));
}

/**
 * Whose the parts of a world's step are: means over its ranks, which add up.
 *
 * @param size - of the world; fewer than took the last steps where ranks were lost or taken away since
 * @param ranks - those that take the steps; undefined or empty if that is not known
 */
export function ofWhom(
  size: number,
  ranks: readonly number[] | undefined,
  trans: TranslationBundle
): string {
  if (ranks && ranks.length > size) {
    return trans._n(
      'mean of the former %1 rank',
      'mean of the former %1 ranks',
      ranks.length
    );
  }
  if (ranks?.length && ranks.length < size) {
    return ranks.length === 1
      ? trans.__('rank %1', ranks[0])
      : trans.__('mean of ranks %1', formatRanks(ranks));
  }
  switch (size) {
    case 1:
      return trans.__('rank 0');
    case 2:
      return trans.__('mean of both ranks');
    default:
      return trans.__('mean of all ranks');
  }
}
