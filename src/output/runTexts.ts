import { TranslationBundle } from '@jupyterlab/translation';

import { cellName } from '../locations/texts';
import { Verdict } from '../tokens';
import {
  formatClock,
  formatRanks,
  formatSpan,
  formatTime
} from '../metrics/format';
import { GlyphKind } from '../verdicts/glyphKind';
import { ranksText } from '../verdicts/sentence';
import { blamedWord } from '../verdicts/texts';
import { IRunStatus, problemOf } from './runStatus';
import { startText } from './startText';
import { isOver } from './runs/storedRun';

/** A verdict, and for how long. */
export function problemText(
  verdict: Verdict,
  trans: TranslationBundle
): string {
  const text = verdict.text.trim();
  const { since_s: since } = verdict;
  if (!verdict.alarm || since === null) {
    return text;
  }
  const { operation, ranks, peers } = verdict;
  const computing = verdict.code === 'computing';
  if (!(computing || verdict.code === 'stuck') || !operation) {
    // only if the sentence ends with the waiting ranks: otherwise the time would refer to something else
    return trans.__('%1 %2', text, formatSpan(since));
  }
  return [
    computing
      ? trans._n(
          'Rank %2 is still computing.',
          'Ranks %2 are still computing.',
          ranks.length,
          formatRanks(ranks)
        )
      : trans._n(
          'Rank %2 is stuck.',
          'Ranks %2 are stuck.',
          ranks.length,
          formatRanks(ranks)
        ),
    ranks.length === 1
      ? trans._n(
          '%2 waits for it in %3, for %4.',
          '%2 wait for it in %3, for %4.',
          peers.length,
          ranksText(peers.length, trans),
          operation,
          formatSpan(since)
        )
      : trans._n(
          '%2 waits for them in %3, for %4.',
          '%2 wait for them in %3, for %4.',
          peers.length,
          ranksText(peers.length, trans),
          operation,
          formatSpan(since)
        )
  ].join(' ');
}

/** Whether the debugger has paused ranks that run the cell. */
function isPaused({ state, ranks, cluster }: IRunStatus): boolean {
  return (
    state === 'running' &&
    cluster?.state === 'paused' &&
    cluster.ranks.some(r => r.state === 'paused' && ranks.includes(r.rank))
  );
}

/** Glyph and word of a state; null if unknown. */
export function glyphOf(
  status: IRunStatus,
  trans: TranslationBundle
): { kind: GlyphKind; word: string } | null {
  if (lostText(status, trans)) {
    return { kind: 'off', word: trans.__('no connection') };
  }
  const verdict = problemOf(status);
  if (verdict?.alarm) {
    const computing = verdict.code === 'computing';
    const word = computing ? verdict.code : 'stuck';
    return { kind: 'stuck', word: blamedWord(word, trans) };
  }
  if (isPaused(status)) {
    return { kind: 'paused', word: trans.__('paused') };
  }
  switch (status.state) {
    case 'waiting':
      return {
        kind: 'starting',
        word: status.starts ? trans.__('starting') : trans.__('waiting')
      };
    case 'running':
      if (status.record?.failures.some(f => f.kind === 'raised')) {
        return { kind: 'failed', word: trans.__('failed') };
      }
      return verdict
        ? { kind: 'slow', word: trans.__('running') }
        : { kind: 'busy', word: trans.__('running') };
    case 'done':
      return { kind: 'good', word: trans.__('done') };
    case 'failed':
      return { kind: 'failed', word: trans.__('failed') };
    case 'interrupted':
      return { kind: 'interrupted', word: trans.__('interrupted') };
    case 'not run':
      return { kind: 'todo', word: trans.__('not run') };
    default:
      return status.noEnd
        ? { kind: 'off', word: trans.__('outcome not known') }
        : null;
  }
}

/** Text on a cell that had not ended when the server last answered; empty while there is a server. */
export function lostText(
  { state, unheard }: IRunStatus,
  trans: TranslationBundle
): string {
  if (!unheard || state === null || isOver(state)) {
    return '';
  }
  const time = unheard.since && formatClock(unheard.since, true);
  const was = state === 'running' ? trans.__('running') : trans.__('waiting');
  return time
    ? trans.__('No connection to the server. At %1 it was %2.', time, was)
    : trans.__('No connection to the server.');
}

/** What a cell waits for, or how long it has run. */
export function timeText(status: IRunStatus, trans: TranslationBundle): string {
  const { state, seconds } = status;
  if (state === 'waiting') {
    return waitsText(status, trans);
  }
  if (seconds === null) {
    return '';
  }
  return state === 'running'
    ? trans.__('running for %1', formatSpan(seconds))
    : formatTime(seconds);
}

/** Ranks that are paused where a cell has failed: one that was continued alone has left the others there. */
function ranksInPostMortem(cluster: IRunStatus['cluster']): number[] {
  const one = cluster?.running.find(({ kind }) => kind === 'post_mortem');
  return (one?.ranks ?? []).filter(
    rank => cluster?.ranks[rank]?.state === 'paused'
  );
}

function waitsText(
  { record, cluster, starts, waitsIn }: IRunStatus,
  trans: TranslationBundle
): string {
  if (!record && starts) {
    return startText(starts === 'unknown' ? null : starts, trans);
  }
  if (!record) {
    return trans.__('queued');
  }
  const [first, ...more] = record.waits_for;
  if (!first) {
    return trans.__('waiting for ranks');
  }
  if (!first.cell) {
    return trans.__('waiting for a program that uses these ranks');
  }
  if (first.kind === 'post_mortem') {
    const ranks = ranksInPostMortem(cluster);
    if (!ranks.length) {
      return trans.__('waiting until the ranks in the debugger continue');
    }
    return trans._n(
      'waiting until rank %2, paused in the debugger, continues',
      'waiting until ranks %2, paused in the debugger, continue',
      ranks.length,
      formatRanks(ranks)
    );
  }
  const cell =
    first.kind === 'cell'
      ? first.cell
      : cellName(first.cell, trans, first.kind);
  const who = waitsIn ? trans.__('%1 of %2', cell, waitsIn) : cell;
  return more.length
    ? trans.__('waiting for %1 and %2 more', who, more.length)
    : trans.__('waiting for %1', who);
}
