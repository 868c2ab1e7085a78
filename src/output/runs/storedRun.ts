import { labPath } from '../../locations/location';
import { CellRecord, Cluster } from '../../tokens';
import { isSummaryPart, SummaryPart } from './outcome';

/** State of a run of a cell. */
export type RunState =
  'waiting' | 'running' | 'done' | 'failed' | 'interrupted' | 'not run';

/** Names in a notebook of an error of ranks, and of one that is only a user's interrupt or stop. */
export const FAILED = 'RanksFailed';
export const INTERRUPTED = 'RanksInterrupted';
export const STOPPED = 'RanksStopped';

/** Name of a cell's error, as in the kernel. */
export function enameOf(
  result: Pick<NonNullable<CellRecord['result']>, 'interrupted' | 'failures'>
): string {
  const { interrupted, failures } = result;
  const stopped = failures.length && failures.every(f => f.kind === 'stopped');
  return interrupted ? INTERRUPTED : stopped ? STOPPED : FAILED;
}

/** Key of the last run on ranks in a cell's metadata. */
export const RUN_KEY = 'dtrain';

/**
 * A run as stored in the notebook, so that a reopened notebook still shows its state, and missing output is
 * restored from the journal.
 */
export interface IRun {
  /** The head's id of it. */
  run: string;
  state: RunState;
  ranks: number[];
  /** Start and end on the ranks, seconds since 1970. */
  started?: number;
  ended?: number;
  /** Whether it was interrupted, and nothing else is reported. */
  plain?: boolean;
  /** Its result in parts, if it failed: codes, without the text that is in its output. */
  said?: SummaryPart[];
  /** Whether its kernel restarted before it ended. */
  restarted?: boolean;
  /** Id of the cluster that runs it; left out once it has ended. */
  cluster?: string;
  /** Whether the user has cleared its output, which is not restored. */
  cleared?: boolean;
  /** Number of the last journal entry that the user has cleared while it ran; what came afterwards is restored. */
  after?: number;
  /** Whether its cluster has ended before the notebook had all of its output. */
  partial?: boolean;
  /** Whether its cluster has ended before the notebook had an output or a number of it. */
  silent?: boolean;
}

/** A record, and its cluster. */
export interface IClusterRecord {
  record: CellRecord;
  cluster: Cluster;
}

/** Properties that distinguish a notebook from its copies. */
export interface INotebook {
  /** Id of its kernel; null without one. */
  kernel: string | null;
  /** Its path in the server's root. */
  path: string;
  /** The server's folder; empty if unknown. */
  root: string;
  /** Whether another notebook is open with this kernel. */
  elsewhere: (kernel: string) => boolean;
}

/**
 * Whether a cell was run by this notebook.
 *
 * That is the case if the kernel is the same, whatever its notebook is called now; or if the path is the
 * same, and no other notebook has that kernel: a renamed notebook keeps its runs.
 */
export function isOf(record: CellRecord, notebook: INotebook): boolean {
  if (record.kernel && record.kernel === notebook.kernel) {
    return true;
  }
  if (record.kernel && notebook.elsewhere(record.kernel)) {
    return false;
  }
  const { root, path } = notebook;
  const recorded = record.notebook ?? '';
  return root
    ? labPath(recorded, root) === path
    : recorded.endsWith(`/${path}`);
}

/** State of a run from the head's record. */
export function stateOf(record: CellRecord): RunState {
  if (record.state !== 'ended') {
    return record.state;
  }
  const failures = record.result?.failures ?? [];
  if (record.result?.interrupted) {
    return 'interrupted';
  }
  if (failures.some(f => f.type === 'NotRun')) {
    return 'not run';
  }
  return failures.length ? 'failed' : 'done';
}

/**
 * Those of a cell's ranks whose processes, in which it ran, have ended.
 *
 * @param found - its record, and the cluster that knows it.
 * @param ended - whether its cluster has ended, if there is no record.
 */
export function endedRanks(
  found: IClusterRecord | null,
  ranks: readonly number[],
  ended: boolean
): ReadonlySet<number> {
  if (!found) {
    return new Set(ended ? ranks : []);
  }
  const { record, cluster } = found;
  // a head of an earlier version reports no new processes
  const isThere = (rank: number): boolean =>
    (cluster.ranks[rank]?.state ?? 'lost') !== 'lost' &&
    !record.replaced?.includes(rank);
  return new Set(ranks.filter(rank => !isThere(rank)));
}

/** Whether a run has ended. */
export function isOver(state: RunState): boolean {
  return state !== 'waiting' && state !== 'running';
}

/** Convert a record to the form stored in the notebook. */
export function runOf(record: CellRecord): IRun {
  const run: IRun = {
    run: record.id,
    state: stateOf(record),
    ranks: [...record.ranks]
  };
  if (record.result?.plain) {
    run.plain = true;
  }
  if (record.result?.said.length) {
    run.said = record.result.said.map(({ code, values }) => ({ code, values }));
  }
  if (record.started_at !== null) {
    run.started = round(record.started_at);
  }
  if (record.ended_at !== null) {
    run.ended = round(record.ended_at);
  }
  return run;
}

/** Who may have stopped a cluster, of whom the sentence on a cell can tell. */
const STOPPED_BY = [
  'kernel',
  'server',
  'terminal',
  'python',
  'idle',
  'shutdown'
];

/**
 * A run that its cluster's end has ended.
 *
 * @param ending - the last state of the cluster.
 * @returns null if it does not say how the cluster ended.
 */
export function endedWith(
  { cluster: _, ...run }: IRun,
  { values }: Cluster['summary']
): IRun | null {
  const killed = values.by === 'killed';
  if (!killed && !STOPPED_BY.includes(String(values.by))) {
    return null;
  }
  // where the log of its head is, is nothing for a notebook that is passed on
  const part = killed
    ? { code: 'killed', values: {} }
    : { code: 'stopped', values };
  return {
    ...run,
    state: run.state === 'waiting' ? 'not run' : 'failed',
    said: [part],
    ...(values.at ? { ended: round(Number(values.at)) } : {})
  };
}

/** Seconds that a server which stops takes at most from the interrupt of its kernels to the end of its clusters. */
const STOPPING_S = 15;

/**
 * A run of a cluster that has ended, from the record that the cluster's head has left.
 *
 * @param ending - the last state of the cluster.
 * @param isWhole - whether the notebook has all of its output.
 */
export function leftRun(
  run: IRun,
  record: CellRecord,
  ending: Cluster['summary'],
  isWhole: boolean
): IRun {
  const { said = [], interrupted } = record.result ?? {};
  const end = record.ended_at;
  const { by, at } = ending.values;
  const stopped = said.length > 0 && said.every(p => p.code === 'stopped');
  // a server interrupts the cells of its kernels before it stops their clusters, and no head knows that
  const withServer =
    interrupted &&
    by === 'shutdown' &&
    end !== null &&
    Number(at) - end < STOPPING_S;
  const cut = stopped || withServer ? endedWith(run, ending) : null;
  const over: IRun = {
    ...(cut ?? runOf(record)),
    ...(end !== null && { ended: round(end) })
  };
  if (run.restarted && !record.detached) {
    over.restarted = true;
  }
  if (!isWhole) {
    over.partial = true;
  }
  return over;
}

/** To 10 µs: a cell of 6.6 ms must not become one of 7 ms when its cluster has stopped. */
function round(seconds: number): number {
  return Math.round(seconds * 1e5) / 1e5;
}

/** Number of the journal entry after which a run's output is shown: all of it, unless the user has cleared some. */
export function shownAfter(record: CellRecord, run: IRun | null): number {
  const cleared = run?.run === record.id ? run.after : undefined;
  return Math.max(record.first_seq - 1, cleared ?? -1);
}

/** Number of a cell from its name: 3 for "[3]". */
export function numberOf(record: CellRecord): number {
  return Number(record.cell.replace(/\D/g, ''));
}

/**
 * Whether a cell lacks output of its run.
 *
 * @param count - the cell's execution count, set once this page has received all output and the end
 * @param asked - the message of this page's last run of the cell; null for none
 * @param dropped - whether the server has dropped some output
 */
export function misses(
  record: CellRecord,
  run: IRun | null,
  count: number | null,
  asked: string | null = null,
  dropped = false
): boolean {
  const whole = count === numberOf(record);
  if (record.detached) {
    // the kernel reports only the start: if the cell failed, its output replaces the hint
    const shown = run?.run === record.id && (run.cleared || isOver(run.state));
    return !!record.result?.sentence && !shown;
  }
  if (asked && record.request === asked && whole) {
    return dropped && !run?.cleared;
  }
  if (run?.run !== record.id) {
    return true;
  }
  return !run.cleared && !isOver(run.state) && !whole;
}

/** The run in a cell's metadata; null if there is none, or it is invalid. */
export function readRun(value: unknown): IRun | null {
  const run = value as Partial<IRun> | undefined;
  if (!run || typeof run.run !== 'string' || !Array.isArray(run.ranks)) {
    return null;
  }
  const { said, ...rest } = run as IRun;
  return Array.isArray(said) && said.every(isSummaryPart)
    ? { ...rest, said }
    : rest;
}
