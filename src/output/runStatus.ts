import { CodeCell } from '@jupyterlab/cells';
import { TranslationBundle } from '@jupyterlab/translation';

import { notebookName } from '../locations/kernelPath';
import { cellName } from '../locations/texts';
import { CellRecord, Cluster, Verdict } from '../tokens';
import {
  formatClock,
  formatRanks,
  formatSpan,
  formatTime
} from '../metrics/format';
import { GlyphKind } from '../verdicts/glyphKind';
import { ranksText } from '../verdicts/sentence';
import { blamedWord } from '../verdicts/texts';
import { isDetached, showsEarlier } from './runs/cellOutput';
import {
  IClusterRecord,
  IRun,
  isOver,
  RunState,
  stateOf
} from './runs/storedRun';
import { SummaryPart } from './runs/outcome';

/** State of a cell, as far as known. */
export interface IRunStatus {
  state: RunState | null;
  record: CellRecord | null;
  cluster: Cluster | null;
  /** Seconds for which the ranks have run it; null if unknown. */
  seconds: number | null;
  /** Ranks that run it; empty if unknown. */
  ranks: readonly number[];
  /** Whether it was interrupted, and nothing else is reported. */
  plain?: boolean;
  /** Whether its kernel restarted before it ended. */
  restarted?: boolean;
  /** Its result in parts, if it failed. */
  said?: readonly SummaryPart[];
  /** Whether it was last known to run or wait, and no cluster knows how it ended. */
  noEnd?: boolean;
  /** Whether there is no connection to the server, so that this is the last known state. */
  unheard?: { since: Date | null };
}

/** Combine what the cluster, the notebook and the outputs tell about a cell. */
export function runStatusOf(
  cell: CodeCell,
  found: IClusterRecord | null,
  run: IRun | null,
  live: boolean,
  failed: boolean
): IRunStatus {
  const { executionCount, sharedModel } = cell.model;
  const earlier = showsEarlier(sharedModel.getSource());
  if (found) {
    const { record, cluster } = found;
    const state = stateOf(record);
    const began = record.started_at;
    const end = record.ended_at ?? (isOver(state) ? null : Date.now() / 1000);
    return {
      state,
      record,
      cluster,
      seconds: began === null || end === null ? null : Math.max(0, end - began),
      ranks: record.ranks,
      plain: record.result?.plain,
      restarted: run?.run === record.id && run.restarted,
      said: record.result?.said
    };
  }
  const nothing = { record: null, cluster: null, seconds: null, ranks: [] };
  if (live) {
    return { ...nothing, state: earlier ? 'running' : 'waiting' };
  }
  // tools that strip outputs, for example before a commit, keep the cell's metadata
  const stripped =
    run?.state === 'done' &&
    executionCount === null &&
    cell.model.outputs.length === 0;
  if (run && !run.cleared && !stripped) {
    const known = isOver(run.state);
    const times = run.started !== undefined && run.ended !== undefined;
    return {
      ...nothing,
      // a stopped cluster's record is gone: the kernel has reported the end
      state: known ? run.state : failed ? 'failed' : null,
      seconds: known && times ? run.ended! - run.started! : null,
      ranks: run.ranks,
      plain: run.plain,
      restarted: run.restarted,
      said: run.said
    };
  }
  if (executionCount === null || isDetached(sharedModel.getSource())) {
    return { ...nothing, state: null };
  }
  const done = earlier === 'output' ? null : 'done'; // the cell whose output it shows may still run
  return { ...nothing, state: failed ? 'failed' : done };
}

/** Whether the ranks that were interrupted still have the processes, and so the variables, of that time. */
export function variablesSurvive({
  record
}: Pick<IRunStatus, 'record'>): boolean {
  const taken = (record?.result?.failures ?? []).filter(
    f => f.kind === 'interrupted' || f.kind === 'aborted'
  );
  // a stopped cluster's record is gone, and a head of an earlier version reports no new processes
  return !!record && !taken.some(f => record.replaced?.includes(f.rank));
}

/** The problem of a running cell's ranks; one that keeps them from continuing comes first. */
export function problemOf(status: IRunStatus): Verdict | null {
  const { state, record, cluster } = status;
  if (state !== 'running' || !record || !cluster) {
    return null;
  }
  const here = cluster.metrics.verdicts.filter(v =>
    v.kind === 'input_bound' && !v.ranks.length
      ? cluster.metrics.current // all ranks that train wait for data
      : [...v.ranks, ...v.peers].some(rank => record.ranks.includes(rank))
  );
  return here.find(v => v.alarm) ?? here[0] ?? null;
}

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
  if (status.cluster?.state === 'paused' && status.state === 'running') {
    return { kind: 'paused', word: trans.__('paused') };
  }
  switch (status.state) {
    case 'waiting':
      return { kind: 'starting', word: trans.__('waiting') };
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
        ? { kind: 'off', word: trans.__('end not known') }
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

function waitsText(
  { record, cluster }: Pick<IRunStatus, 'record' | 'cluster'>,
  trans: TranslationBundle
): string {
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
    const { ranks = [] } =
      cluster?.running.find(one => one.kind === 'post_mortem') ?? {};
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
  const name = first.notebook && notebookName(first.notebook);
  const own = !first.notebook || first.notebook === record.notebook;
  const cell =
    first.kind === 'cell'
      ? first.cell
      : cellName(first.cell, trans, first.kind);
  const who = own || !name ? cell : trans.__('%1 of %2', cell, name);
  return more.length
    ? trans.__('waiting for %1 and %2 more', who, more.length)
    : trans.__('waiting for %1', who);
}
