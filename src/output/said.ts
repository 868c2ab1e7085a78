import { TranslationBundle } from '@jupyterlab/translation';

import { components } from '../api/types';
import { CellRecord } from '../tokens';
import { formatRanks, NBSP } from '../ui/format';
import { ranksIn } from '../ui/ranks';

/** A part of what became of a cell: its code and values, and its English text where that is at hand. */
export type Said = Pick<components['schemas']['Summary'], 'code' | 'values'> & {
  text?: string;
};

/** What became of a cell. */
export interface IFate {
  /** Who is at fault. */
  head: string;
  /** What became of the others. */
  rest: string;
}

/** As outputs of older versions say it, which name no kind. */
const STOPPED = 'The cluster was stopped.';

/** Did a cell end since somebody stopped its cluster, and for nothing else? That is no failure. */
export function isStopped(
  parts: readonly Said[] | undefined,
  sentence: string
): boolean {
  return parts?.length
    ? parts.every(({ code }) => code === 'stopped')
    : sentence.trim() === STOPPED;
}

/**
 * What became of a cell, in the user's language: by the codes of its parts.
 *
 * @param sentence - the same in English: shown where a part is new to us, or none is known
 * @param told - what was raised stands below
 */
export function fateOf(
  parts: readonly Said[] | undefined,
  sentence: string,
  told: boolean,
  trans: TranslationBundle
): IFate {
  const texts = (parts ?? []).map(
    part => words(part, told, trans) ?? part.text ?? ''
  );
  if (!texts.length || texts.includes('')) {
    return { head: sentence, rest: '' };
  }
  return told
    ? { head: texts[0], rest: texts.slice(1).join(' ') }
    : { head: texts.join(' '), rest: '' };
}

/** One part; null where its code is new to us. */
function words(
  { code, values }: Said,
  told: boolean,
  trans: TranslationBundle
): string | null {
  const numbers = ranksIn(values.ranks);
  const count = numbers.length;
  const ranks = named(numbers, trans);
  const value = (key: string): string => String(values[key] ?? '');
  switch (code) {
    case 'raised':
      return told
        ? trans._n('Rank %2 failed.', 'Ranks %2 failed.', count, ranks)
        : trans._n(
            'Rank %2 failed: %3.',
            'Ranks %2 failed: %3.',
            count,
            ranks,
            values.others
              ? trans.__('%1 (and %2 other)', value('error'), value('others'))
              : value('error')
          );
    case 'lost':
      return trans._n(
        'Rank %2 was lost: %3.',
        'Ranks %2 were lost: %3.',
        count,
        ranks,
        value('how')
      );
    case 'stopped':
      return trans.__('The cluster was stopped.');
    case 'device':
      return trans._n(
        'CUDA fails on rank %2 until you replace it: %3.',
        'CUDA fails on ranks %2 until you replace them: %3.',
        count,
        ranks,
        value('restart')
      );
    case 'no_answer':
      return trans._n(
        'Rank %2 does not answer the interrupt: wait, or %3.',
        'Ranks %2 do not answer the interrupt: wait, or %3.',
        count,
        ranks,
        value('restart')
      );
    case 'interrupted':
      return interrupted(values, numbers, trans);
    case 'restarted':
      return trans._n(
        'Rank %2 was restarted: its variables are lost.',
        'Ranks %2 were restarted: their variables are lost.',
        count,
        ranks
      );
    case 'had_ended':
      return trans._n(
        'Rank %2 had ended the cell.',
        'Ranks %2 had ended the cell.',
        count,
        ranks
      );
    case 'timed_out':
      return trans.__(
        'The cell took longer than %1.',
        `${Number(values.seconds).toLocaleString()}${NBSP}s`
      );
    case 'not_run':
      return trans.__('The cell did not run: %1', value('why'));
    default:
      return null;
  }
}

/** Which ranks were interrupted, and in which operations as far as that is known. */
function interrupted(
  values: Said['values'],
  numbers: readonly number[],
  trans: TranslationBundle
): string {
  const ranks = named(numbers, trans);
  const list = Array.isArray(values.operations) ? values.operations : [];
  const operations = list.join(', ');
  const inside = ranksIn(values.inside);
  if (!operations) {
    return trans._n(
      'Rank %2 was interrupted; variables are kept.',
      'Ranks %2 were interrupted; variables are kept.',
      numbers.length,
      ranks
    );
  }
  if (!inside.length) {
    return trans._n(
      'Rank %2 was interrupted in %3; variables are kept.',
      'Ranks %2 were interrupted in %3; variables are kept.',
      numbers.length,
      ranks,
      operations
    );
  }
  return trans.__(
    'Ranks %1 were interrupted (%2); variables are kept.',
    ranks,
    trans._n(
      'rank %2 in %3',
      'ranks %2 in %3',
      inside.length,
      named(inside, trans),
      operations
    )
  );
}

/** What has become so far of a cell that still runs; empty where no rank has failed. */
export function soFar(
  record: CellRecord | null,
  trans: TranslationBundle
): string {
  const failed = (record?.failures ?? [])
    .filter(f => f.kind === 'raised')
    .map(f => f.rank);
  if (!record || record.state !== 'running' || !failed.length) {
    return '';
  }
  const left = record.ranks.filter(
    rank => !record.failures.some(f => f.rank === rank)
  );
  return [
    trans._n(
      'Rank %2 failed.',
      'Ranks %2 failed.',
      failed.length,
      named(failed, trans)
    ),
    left.length
      ? trans._n(
          'Rank %2 still runs.',
          'Ranks %2 still run.',
          left.length,
          named(left, trans)
        )
      : ''
  ]
    .join(' ')
    .trim();
}

/** Ranks as they stand in a sentence: "0, 2–4 and 6". */
function named(ranks: readonly number[], trans: TranslationBundle): string {
  const spans = formatRanks(ranks).split(', ');
  const last = spans.pop() ?? '';
  return spans.length ? trans.__('%1 and %2', spans.join(', '), last) : last;
}
