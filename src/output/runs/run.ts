import { labPath } from '../../places/find';
import { CellRecord, Cluster } from '../../tokens';
import { SummaryPart } from './outcome';

/** How a run of a cell stands. */
export type RunState =
  'waiting' | 'running' | 'done' | 'failed' | 'interrupted' | 'not run';

/** What an error of ranks is called in a notebook, and one that is a user's own interrupt, or stop, and nothing else. */
export const FAILED = 'RanksFailed';
export const INTERRUPTED = 'RanksInterrupted';
export const STOPPED = 'RanksStopped';

/** What the error of a cell is called: as the kernel does. */
export function enameOf(
  result: Pick<NonNullable<CellRecord['result']>, 'interrupted' | 'failures'>
): string {
  const { interrupted, failures } = result;
  const stopped = failures.length && failures.every(f => f.kind === 'stopped');
  return interrupted ? INTERRUPTED : stopped ? STOPPED : FAILED;
}

/** Where a cell's own metadata has its last run on ranks. */
export const RUN_KEY = 'dtrain';

/**
 * A run as the notebook keeps it: so that a notebook which is opened again still says what is known, and what
 * the journal has more is put back.
 */
export interface IRun {
  /** The head's id of it. */
  run: string;
  state: RunState;
  ranks: number[];
  /** Seconds since 1970, when the ranks began and ended. */
  started?: number;
  ended?: number;
  /** It was interrupted, and no more than that is told of it. */
  plain?: boolean;
  /** What became of it where it failed, in parts: by code, without the text that its output has. */
  said?: SummaryPart[];
  /** The user has cleared its output: it stays so. */
  cleared?: boolean;
}

/** A record, and the cluster that has it. */
export interface IFound {
  record: CellRecord;
  cluster: Cluster;
}

/** What tells a notebook from its copies. */
export interface INotebook {
  /** Id of its kernel; null without one. */
  kernel: string | null;
  /** Its path in the server's root. */
  path: string;
  /** The server's folder; empty where it is not known. */
  root: string;
  /** Is another notebook open with this kernel? */
  elsewhere: (kernel: string) => boolean;
}

/**
 * Was a cell run by this notebook?
 *
 * By the same kernel, whatever its notebook is called by now; or under this very path, by a kernel that no other
 * notebook has: a notebook that was renamed has taken its runs along.
 */
export function isOf(record: CellRecord, notebook: INotebook): boolean {
  if (record.kernel && record.kernel === notebook.kernel) {
    return true;
  }
  if (record.kernel && notebook.elsewhere(record.kernel)) {
    return false;
  }
  const { root, path } = notebook;
  const known = record.notebook ?? '';
  return root ? labPath(known, root) === path : known.endsWith(`/${path}`);
}

/** State of a run by the head's record. */
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

/** Has a run come to its end? */
export function isOver(state: RunState): boolean {
  return state !== 'waiting' && state !== 'running';
}

/** A record as the notebook keeps it. */
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

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

/** Number of a cell by its name: 3 of "[3]". */
export function numberOf(record: CellRecord): number {
  return Number(record.cell.replace(/\D/g, ''));
}

/**
 * Does a cell lack what its run has put out?
 *
 * @param count - the cell's execution count: set when its kernel has told the page of the end, and of all before
 * @param asked - the message by which this page has run the cell last; null where it has not
 * @param dropped - has the server dropped some of it on its way to this page?
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
    return false;
  }
  if (asked && record.request === asked && whole) {
    return dropped && !run?.cleared;
  }
  if (run?.run !== record.id) {
    return true;
  }
  return !run.cleared && !isOver(run.state) && !whole;
}

function isSummaryPart(value: unknown): value is SummaryPart {
  const { code, values } = (value ?? {}) as Partial<SummaryPart>;
  return typeof code === 'string' && typeof values === 'object' && !!values;
}

/** The run in a cell's metadata; null where there is none that can be read. */
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
