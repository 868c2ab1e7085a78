import { TranslationBundle } from '@jupyterlab/translation';

import { Verdict } from '../tokens';
import { formatCount, formatRanks } from '../metrics/format';
import { ranksIn } from '../metrics/rankSets';
import { knownShare } from '../metrics/share';

/**
 * A verdict as short text after a colon: "rank 5 is stuck".
 *
 * By its code; the head's English text if the code is unknown.
 */
export function briefly(verdict: Verdict, trans: TranslationBundle): string {
  const { code, values, text, operation } = verdict;
  const count = verdict.ranks.length;
  const ranks = formatRanks(verdict.ranks);
  const peers = formatRanks(verdict.peers);
  switch (code) {
    case 'stuck':
      return trans._n('rank %2 is stuck', 'ranks %2 are stuck', count, ranks);
    case 'computing':
      return trans._n(
        'rank %2 is still computing',
        'ranks %2 are still computing',
        count,
        ranks
      );
    case 'deaf':
      return trans._n(
        'rank %2 does not answer the interrupt',
        'ranks %2 do not answer the interrupt',
        count,
        ranks
      );
    case 'slow':
      return trans._n('rank %2 is slow', 'ranks %2 are slow', count, ranks);
    case 'halted':
      return trans._n(
        'rank %2 is stopped by a signal',
        'ranks %2 are stopped by a signal',
        count,
        ranks
      );
    case 'mismatch':
      return values.called && values.expected
        ? callsText(verdict, trans)
        : bare(text);
    case 'extra':
      return trans._n(
        'rank %2 called %3 once more than the others',
        'ranks %2 called %3 once more than the others',
        count,
        ranks,
        operation ?? trans.__('a collective')
      );
    case 'left':
    case 'not_in_cell':
      return trans._n(
        'rank %2 waits in %3',
        'ranks %2 wait in %3',
        verdict.peers.length,
        peers,
        operation ?? trans.__('a collective')
      );
    case 'no_progress':
      return trans.__('no progress');
    case 'waits_for_data':
      return trans._n(
        'rank %2 waits for data',
        'ranks %2 wait for data',
        count,
        ranks
      );
    case 'behind':
      return trans._n('rank %2 is behind', 'ranks %2 are behind', count, ranks);
    case 'input_bound':
      return values.share === undefined
        ? trans.__('waits for data')
        : trans.__(
            'waits for data, %1 of a step',
            knownShare(Number(values.share), Number(values.error ?? 0), trans)
          );
    case 'too_busy':
      return values.node
        ? trans.__(
            '%1 is too busy to tell which rank is slow',
            String(values.node)
          )
        : trans.__('this machine is too busy to tell which rank is slow');
    default:
      return bare(text);
  }
}

/** As `briefly`, in half of its room: what differs can be read in full elsewhere. */
export function shortly(verdict: Verdict, trans: TranslationBundle): string {
  const { code, ranks, operation } = verdict;
  const named = formatRanks(ranks);
  switch (code) {
    case 'mismatch':
      return trans.__('collectives differ');
    case 'extra':
      return trans.__('one %1 too many', operation ?? trans.__('collective'));
    case 'deaf':
      return trans._n(
        'rank %2 does not answer',
        'ranks %2 do not answer',
        ranks.length,
        named
      );
    case 'halted':
      return trans._n(
        'rank %2 is stopped',
        'ranks %2 are stopped',
        ranks.length,
        named
      );
    default:
      return briefly(verdict, trans);
  }
}

/**
 * The state of a rank at fault in a few words that agree with the verdict: "stuck", "still computing".
 *
 * @param code - of the alarm
 */
export function blamedWord(code: string, trans: TranslationBundle): string {
  switch (code) {
    case 'computing':
      return trans.__('still computing');
    case 'halted':
      return trans.__('stopped by a signal');
    case 'deaf':
      return trans.__('no answer');
    case 'mismatch':
      return trans.__('in another collective');
    case 'extra':
      return trans.__('in a collective');
    default:
      return trans.__('stuck');
  }
}

/** Note below the headline of ranks that wait for cores: the reliability of their metrics. */
export function busyNote(
  { values }: Verdict,
  trans: TranslationBundle
): string {
  const threads = formatCount(Number(values.threads));
  const cores = Number(values.cores);
  return values.node
    ? trans._n(
        '%2 is busy (%3 threads compete for its one core), so times and shares are rough.',
        '%2 is busy (%3 threads compete for its %4 cores), so times and shares are rough.',
        cores,
        String(values.node),
        threads,
        formatCount(cores)
      )
    : trans._n(
        'This machine is busy (%2 threads compete for its one core), so times and shares are rough.',
        'This machine is busy (%2 threads compete for its %3 cores), so times and shares are rough.',
        cores,
        threads,
        formatCount(cores)
      );
}

/**
 * "rank 1 called all_reduce, rank 2 barrier, rank 0 broadcast": ranks at fault, which may differ among
 * themselves, and their peers. Shapes are named only where two have the same operation.
 */
function callsText(
  { values, ranks, peers }: Verdict,
  trans: TranslationBundle
): string {
  const told = values.calls as { ranks: string; call: string }[] | undefined;
  // a head of an earlier version tells only the first call
  const [first, ...more] = told ?? [
    { ranks: formatRanks(ranks), call: `${values.called}` }
  ];
  const all = [first.call, ...more.map(m => m.call), `${values.expected}`];
  const names = all.map(call => call.split(' ')[0]);
  const said = new Set(names).size === all.length ? names : all;
  const of = (named: readonly number[], call: string): string =>
    trans._n(
      'rank %2 %3',
      'ranks %2 %3',
      named.length,
      formatRanks(named),
      call
    );
  const at = ranksIn(first.ranks);
  return [
    trans._n(
      'rank %2 called %3',
      'ranks %2 called %3',
      at.length,
      formatRanks(at),
      said[0]
    ),
    ...more.map((m, i) => of(ranksIn(m.ranks), said[i + 1])),
    peers.length === 1
      ? of(peers, said[said.length - 1])
      : trans.__('others %1', said[said.length - 1])
  ].join(', ');
}

/** Without its full stop. */
function bare(text: string): string {
  return text.trim().replace(/\.$/, '');
}
