import { TranslationBundle } from '@jupyterlab/translation';

import { components } from '../../api/types';
import { CellRecord } from '../../tokens';
import { formatRanks, listed, NBSP } from '../../metrics/format';
import { ranksIn } from '../../metrics/rankSets';
import { clusterStopped, headGone } from '../../verdicts/endings';

/** One part of a cell's result: its code and values, and its English text if known. */
export type SummaryPart = Pick<
  components['schemas']['Summary'],
  'code' | 'values'
> & {
  text?: string;
};

/** The result of a cell, as text. */
export interface IOutcome {
  /** The rank that failed, and how. */
  head: string;
  /** What happened to the other ranks. */
  rest: string;
}

/** Whether a value that a notebook has saved is a part of a result. */
export function isSummaryPart(value: unknown): value is SummaryPart {
  const { code, values } = (value ?? {}) as Partial<SummaryPart>;
  return typeof code === 'string' && typeof values === 'object' && !!values;
}

/** The sentence of a cell whose cluster was stopped, in notebooks of versions that saved no parts. */
const STOPPED_TEXT = /^The cluster was stopped\b/;

/** What an interrupt promises in English. */
const KEPT_TEXT = '; variables are kept.';

/** Whether a cell ended only because its cluster was stopped, which is not a failure. */
export function isStopped(
  parts: readonly SummaryPart[] | undefined,
  sentence: string
): boolean {
  return parts?.length
    ? parts.every(({ code }) => code === 'stopped')
    : STOPPED_TEXT.test(sentence);
}

/**
 * The result of a cell in the user's language, built from the codes of its parts.
 *
 * @param sentence - the result in English: shown if a part's code is unknown, or if there are no parts
 * @param tracebackShown - the exception is displayed below, and not repeated here
 * @param variablesSurvive - the ranks still exist, and with them the variables that an interrupt has kept
 */
export function outcomeOf(
  parts: readonly SummaryPart[] | undefined,
  sentence: string,
  tracebackShown: boolean,
  variablesSurvive: boolean,
  trans: TranslationBundle
): IOutcome {
  const texts = (parts ?? []).map(
    part =>
      words(part, tracebackShown, variablesSurvive, trans) ?? part.text ?? ''
  );
  if (!texts.length || texts.includes('')) {
    const head = variablesSurvive
      ? sentence
      : sentence.replaceAll(KEPT_TEXT, '.');
    return { head, rest: '' };
  }
  return tracebackShown
    ? { head: texts[0], rest: texts.slice(1).join(' ') }
    : { head: texts.join(' '), rest: '' };
}

/** The text of one part; null if its code is unknown. */
function words(
  { code, values }: SummaryPart,
  tracebackShown: boolean,
  variablesSurvive: boolean,
  trans: TranslationBundle
): string | null {
  const numbers = ranksIn(values.ranks);
  const count = numbers.length;
  const ranks = formatRanks(numbers);
  const value = (key: string): string => String(values[key] ?? '');
  switch (code) {
    case 'raised':
      return tracebackShown
        ? trans._n('Rank %2 failed.', 'Ranks %2 failed.', count, ranks)
        : trans._n(
            'Rank %2 failed: %3.',
            'Ranks %2 failed: %3.',
            count,
            ranks,
            values.others
              ? trans._n(
                  '%2 (and %1 other)',
                  '%2 (and %1 others)',
                  Number(values.others),
                  value('error')
                )
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
      return clusterStopped(values, trans);
    case 'killed':
      return trans.__('The cluster ended unexpectedly. %1', headGone(trans));
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
      return variablesSurvive
        ? trans.__(
            '%1; variables are kept.',
            interrupted(values, numbers, trans)
          )
        : trans.__('%1.', interrupted(values, numbers, trans));
    case 'restarted':
      return trans._n(
        'Rank %2 was restarted: its variables are lost.',
        'Ranks %2 were restarted: their variables are lost.',
        count,
        ranks
      );
    case 'had_ended':
      return trans._n(
        'Rank %2 had finished the cell.',
        'Ranks %2 had finished the cell.',
        count,
        ranks
      );
    case 'timed_out':
      return trans.__(
        'The cell took longer than %1.',
        `${Number(values.seconds).toLocaleString()}${NBSP}s`
      );
    case 'not_run':
      return trans.__('This cell was not run. %1', value('why'));
    default:
      return null;
  }
}

/** Which ranks an interrupt found in which operations: "Rank 0 was in barrier."; empty if in none. */
export function interruptedOperations(
  parts: readonly SummaryPart[] | undefined,
  trans: TranslationBundle
): string {
  const values = parts?.find(p => p.code === 'interrupted')?.values ?? {};
  const list = Array.isArray(values.operations) ? values.operations : [];
  const inside = ranksIn(values.inside);
  const ranks = inside.length ? inside : ranksIn(values.ranks);
  return list.length && ranks.length
    ? trans._n(
        'Rank %2 was in %3.',
        'Ranks %2 were in %3.',
        ranks.length,
        formatRanks(ranks),
        listed(list.map(String), trans)
      )
    : '';
}

/** Which ranks were interrupted, and in which operations, as far as known. */
function interrupted(
  values: SummaryPart['values'],
  numbers: readonly number[],
  trans: TranslationBundle
): string {
  const ranks = formatRanks(numbers);
  const list = Array.isArray(values.operations) ? values.operations : [];
  const operations = listed(list.map(String), trans);
  const inside = ranksIn(values.inside);
  if (!operations) {
    return trans._n(
      'Rank %2 was interrupted',
      'Ranks %2 were interrupted',
      numbers.length,
      ranks
    );
  }
  if (!inside.length) {
    return trans._n(
      'Rank %2 was interrupted in %3',
      'Ranks %2 were interrupted in %3',
      numbers.length,
      ranks,
      operations
    );
  }
  return trans.__(
    'Ranks %1 were interrupted (%2)',
    ranks,
    trans._n(
      'rank %2 in %3',
      'ranks %2 in %3',
      inside.length,
      formatRanks(inside),
      operations
    )
  );
}

/** Failures so far of a running cell; empty if no rank has failed. */
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
      formatRanks(failed)
    ),
    left.length
      ? trans._n(
          'Rank %2 still runs.',
          'Ranks %2 still run.',
          left.length,
          formatRanks(left)
        )
      : ''
  ]
    .join(' ')
    .trim();
}
