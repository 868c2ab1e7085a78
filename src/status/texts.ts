import { TranslationBundle } from '@jupyterlab/translation';

import { ENDED } from '../api/states';
import { activeCounts, activeText, withState } from '../job/model/activeJobs';
import { isPaused } from '../job/model/states';
import { Cluster, ILiveState, Job, Link, Sweep } from '../tokens';
import {
  formatCount,
  formatRate,
  formatRanks,
  formatSpan,
  formatTime,
  listed,
  unbroken
} from '../metrics/format';
import { GlyphKind } from '../verdicts/glyphKind';
import {
  clusterGlyph,
  needsAttention,
  ranksText,
  sentence,
  stateWord
} from '../verdicts/sentence';
import { ranksIn } from '../metrics/rankSets';
import { isVague, shareInText } from '../metrics/share';
import { alarmOf, holdUpOf } from '../verdicts/verdict';
import { briefly, shortly } from '../verdicts/texts';

/** "rank 5 is stuck", for a cluster that needs attention. */
export function problemWords(
  cluster: Cluster,
  trans: TranslationBundle,
  short = false
): string {
  const alarm = alarmOf(cluster.metrics);
  if (alarm) {
    return (short ? shortly : briefly)(alarm, trans);
  }
  const { code, values } = cluster.summary;
  if (code === 'failing') {
    const failed = ranksIn(values.ranks);
    const still = ranksIn(values.still);
    return [
      trans._n(
        'rank %2 failed',
        'ranks %2 failed',
        failed.length,
        formatRanks(failed)
      ),
      trans._n(
        'rank %2 is still running',
        'ranks %2 are still running',
        still.length,
        formatRanks(still)
      )
    ].join(', ');
  }
  const lost = cluster.ranks.filter(r => r.state === 'lost').map(r => r.rank);
  return code === 'lost' && lost.length
    ? trans._n(
        'rank %2 was lost',
        'ranks %2 were lost',
        lost.length,
        formatRanks(lost)
      )
    : sentence(cluster, trans).replace(/\.$/, '');
}

/** "rank 37 is slow", "waits for data, 91 % of a step"; null if nothing holds the ranks up. */
function holdUpWords(
  cluster: Cluster,
  trans: TranslationBundle
): string | null {
  const verdict = holdUpOf(cluster.metrics);
  return verdict ? briefly(verdict, trans) : null;
}

/** "rank 1 waits in all_reduce", for paused ranks; empty if no rank does. */
function waitingWords(
  { summary: { values } }: Cluster,
  trans: TranslationBundle
): string {
  const waiting = ranksIn(values.waiting);
  return waiting.length
    ? trans._n(
        'rank %2 waits in %3',
        'ranks %2 wait in %3',
        waiting.length,
        formatRanks(waiting),
        listed(String(values.operations ?? '').split(','), trans)
      )
    : '';
}

/** "starting, 49 of 64 ranks", "waiting, starts in about 22 min"; null once all ranks are connected. */
function startWords(
  cluster: Cluster,
  trans: TranslationBundle,
  now: number
): string | null {
  const word = stateWord(cluster.state, trans);
  if (cluster.state === 'pending') {
    const at = cluster.reason?.expected_start_at ?? null;
    const left = at === null ? 0 : Math.round((at - now) / 60);
    return left > 0
      ? unbroken(
          trans.__('%1, starts in about %2', word, formatTime(60 * left))
        )
      : word;
  }
  const { code, values } = cluster.summary;
  return cluster.state === 'starting' && code === 'starting'
    ? trans.__(
        '%1, %2 of %3',
        word,
        formatCount(Number(values.done ?? 0)),
        ranksText(Number(values.total ?? 0), trans)
      )
    : null;
}

/** Contents of the status bar. */
export interface IStatus {
  text: string;
  /** What is shown of it if there is little room: its beginning, or in fewer words. */
  short: string;
  glyph: GlyphKind;
  /** The glyph's text. */
  word: string;
  /** Whether attention is needed. */
  needsAttention: boolean;
}

/** The subject of the status bar. */
export interface ISubject {
  /** Null if a cell of the current notebook would run on none. */
  cluster: Cluster | null;
  /** Number of other clusters in that case. */
  others: number;
}

/**
 * The subject of the status bar: the current notebook's cluster, one that needs attention, or, without a
 * notebook, the panel's; of that, one that runs rather than one that has ended.
 *
 * @param own - the notebook's cluster, as in its picker; null if it has none, undefined without a notebook.
 * @param shown - the panel's.
 */
export function subjectOf(
  clusters: readonly Cluster[],
  own: Cluster | null | undefined,
  shown: Cluster | null
): ISubject {
  const living = clusters.filter(c => !ENDED.includes(c.state));
  const cluster = own ?? clusters.find(needsAttention) ?? null;
  if (cluster || own === null) {
    return { cluster, others: cluster ? 0 : living.length };
  }
  const latest = living[living.length - 1] ?? null;
  const isOver = shown !== null && ENDED.includes(shown.state);
  return { cluster: isOver ? (latest ?? shown) : shown, others: 0 };
}

/** State of a cluster, if known; without a server it is unknown. */
export function statusOf(
  cluster: Cluster | null,
  link: Link,
  trans: TranslationBundle,
  others = 0
): IStatus {
  if (link === 'lost') {
    const word = trans.__('no connection');
    const name = cluster?.name ?? trans.__('Distributed');
    const text = trans.__('%1: %2', name, word);
    return { text, short: text, glyph: 'off', word, needsAttention: false };
  }
  if (!cluster) {
    // as in the picker of the notebook's toolbar
    const short = trans.__('No cluster');
    const text = others
      ? trans._n(
          '%2 · %1 other cluster',
          '%2 · %1 other clusters',
          others,
          short
        )
      : short;
    // short enough also where there is little room
    return {
      text,
      short: text,
      glyph: 'todo',
      word: '',
      needsAttention: false
    };
  }
  return {
    text: statusText(cluster, trans),
    short: statusText(cluster, trans, { short: true }),
    glyph: clusterGlyph(cluster),
    word: stateWord(cluster.state, trans),
    needsAttention: needsAttention(cluster)
  };
}

/** "2 jobs active", "1 job, 1 sweep active", "1 sweep stopping", as in the panel; null if none is. */
export function jobsText(
  model: Pick<ILiveState, 'jobs' | 'sweeps'>,
  trans: TranslationBundle,
  stopped: readonly Sweep[] = []
): string | null {
  const counts = activeCounts(model, stopped);
  return counts.jobs + counts.sweeps
    ? withState(activeText(counts, trans), counts, trans)
    : null;
}

/** Jobs whose ranks can't continue by themselves. */
export interface IStuckJobs {
  /** "Job tune: rank 1 is stuck, 14 s", "3 jobs are stuck". */
  text: string;
  /** The job; null if there are several. */
  job: Job | null;
}

/** What the status bar says of jobs that are stuck, as it does of clusters; null if none is. */
export function stuckJobs(
  jobs: readonly Job[],
  trans: TranslationBundle
): IStuckJobs | null {
  const stuck = jobs.filter(
    job => job.state === 'running' && !isPaused(job) && alarmOf(job.metrics)
  );
  if (stuck.length > 1) {
    const count = formatCount(stuck.length);
    const text = trans._n(
      '%2 job is stuck',
      '%2 jobs are stuck',
      stuck.length,
      count
    );
    return { text, job: null };
  }
  return stuck.length
    ? { text: stuckText(stuck[0], trans), job: stuck[0] }
    : null;
}

function stuckText(job: Job, trans: TranslationBundle): string {
  const alarm = alarmOf(job.metrics)!;
  const words = briefly(alarm, trans);
  return alarm.since_s === null
    ? trans.__('Job %1: %2', job.name, words)
    : trans.__('Job %1: %2, %3', job.name, words, formatSpan(alarm.since_s));
}

/**
 * "sft-8: rank 5 is stuck, 14 s", "local-4: 4 ranks · 2,140 samples/s · communication 12 %".
 *
 * @param now - seconds since 1970
 * @param short - without its last metric; of a problem, without its details
 */
export function statusText(
  cluster: Cluster,
  trans: TranslationBundle,
  { now = Date.now() / 1000, short = false } = {}
): string {
  const { name } = cluster;
  if (needsAttention(cluster)) {
    const since = alarmOf(cluster.metrics)?.since_s ?? null;
    const words = problemWords(cluster, trans, short);
    if (words.startsWith(`${name} `)) {
      return words; // the sentence of a cluster that has failed begins with its name
    }
    return since === null
      ? trans.__('%1: %2', name, words)
      : trans.__('%1: %2, %3', name, words, formatSpan(since));
  }
  if (cluster.state === 'paused') {
    const count = cluster.ranks.filter(r => r.state === 'paused').length;
    const words = count
      ? trans._n('paused on %1 rank', 'paused on %1 ranks', count)
      : stateWord('paused', trans);
    const more = short ? '' : waitingWords(cluster, trans);
    return trans.__('%1: %2', name, [words, more].filter(Boolean).join(', '));
  }
  const { samples_per_s, comm_overhead, comm_overhead_error } = cluster.metrics;
  const current = cluster.metrics.current && !ENDED.includes(cluster.state);
  const starts = startWords(cluster, trans, now);
  if (starts) {
    return trans.__('%1: %2', name, starts);
  }
  const parts = [
    holdUpWords(cluster, trans) ?? ranksText(cluster.world.size, trans)
  ];
  if (cluster.state !== 'ready') {
    parts.push(stateWord(cluster.state, trans));
  }
  // while ranks wait for data, their communication is not what takes the time
  const hungry = holdUpOf(cluster.metrics)?.kind === 'input_bound';
  if (current && samples_per_s !== null && !(hungry && short)) {
    parts.push(trans.__('%1 samples/s', formatRate(samples_per_s)));
  }
  const vague = isVague(comm_overhead_error);
  if (current && comm_overhead !== null && !vague && !short && !hungry) {
    parts.push(
      trans.__(
        'communication %1',
        shareInText(comm_overhead, comm_overhead_error, trans)
      )
    );
  }
  return trans.__('%1: %2', name, parts.join(' · '));
}
