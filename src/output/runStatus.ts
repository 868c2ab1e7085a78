import { CodeCell } from '@jupyterlab/cells';

import { CellRecord, Cluster, IKernelRecords, Verdict } from '../tokens';
import { ICellOutput, isDetached, showsEarlier } from './runs/cellOutput';
import { isBare } from './runs/notebookDocument';
import {
  IClusterRecord,
  IRun,
  isOver,
  numberOf,
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
  /** The cluster whose start its kernel waits for; 'unknown' where no frame has told of it yet. Undefined for none. */
  starts?: Cluster | 'unknown';
  /** Name of the other notebook whose cell it waits for; empty if it waits for none. */
  waitsIn?: string;
  /** Whether it was interrupted, and nothing else is reported. */
  plain?: boolean;
  /** Whether its kernel restarted before it ended. */
  restarted?: boolean;
  /** Whether its cluster has ended before the notebook had all of its output. */
  partial?: boolean;
  /** Its result in parts, if it failed. */
  said?: readonly SummaryPart[];
  /** Whether it was last known to run or wait, and no cluster knows how it ended. */
  noEnd?: boolean;
  /** Whether there is no connection to the server, so that this is the last known state. */
  unheard?: {
    since: Date | null;
    /** Whether the server has stopped the clusters of its machine with itself. */
    clustersStopped?: boolean;
  };
}

/**
 * Combine what the cluster, the notebook and the outputs tell about a cell. The kernel may report sooner than the
 * cluster that it runs, or has ended.
 */
export function runStatusOf(
  cell: CodeCell,
  found: IClusterRecord | null,
  run: IRun | null,
  live: boolean,
  output: Pick<ICellOutput, 'failure' | 'ranks'>,
  names: Pick<IKernelRecords, 'notebookName'>,
  /** The run that this page's kernel executes, as its cluster recorded it last. */
  seen: IRun | null = null
): IRunStatus {
  const { executionCount, sharedModel } = cell.model;
  const source = sharedModel.getSource();
  const earlier = showsEarlier(source);
  const failed = !!output.failure;
  const begun = output.ranks.length > 0 ? 'running' : 'waiting';
  if (found) {
    const { record, cluster } = found;
    const known = stateOf(record);
    // an error may mean that only the kernel has stopped waiting for the ranks
    const hasSucceeded =
      !live &&
      !record.detached &&
      !earlier &&
      executionCount === numberOf(record) &&
      !hasError(cell);
    const state =
      hasSucceeded && !isOver(known)
        ? 'done'
        : known === 'waiting'
          ? begun
          : known;
    const began = record.started_at;
    const end = record.ended_at ?? (isOver(known) ? null : Date.now() / 1000);
    return {
      state,
      record,
      cluster,
      seconds: began === null || end === null ? null : Math.max(0, end - began),
      ranks: record.ranks,
      waitsIn: waitsIn(record, names),
      plain: record.result?.plain,
      restarted: run?.run === record.id && run.restarted,
      said: record.result?.said
    };
  }
  const nothing = { record: null, cluster: null, seconds: null, ranks: [] };
  if (live && seen && seen.state !== 'waiting') {
    // its record is gone with its cluster, and the kernel has not reported the end yet
    return {
      ...nothing,
      state: 'running',
      seconds: sinceOf(seen),
      ranks: seen.ranks
    };
  }
  if (live) {
    return { ...nothing, state: earlier ? 'running' : begun };
  }
  if (run && !run.cleared && !isStripped(cell, run)) {
    const over = isOver(run.state);
    const times = run.started !== undefined && run.ended !== undefined;
    return {
      ...nothing,
      // a stopped cluster's record is gone: the kernel has reported the end
      state: over ? run.state : failed ? 'failed' : null,
      seconds: over && times ? run.ended! - run.started! : null,
      ranks: run.ranks,
      plain: run.plain,
      restarted: run.restarted,
      partial: run.partial,
      said: run.said
    };
  }
  if (executionCount === null || isDetached(source)) {
    return { ...nothing, state: null };
  }
  const done = earlier === 'output' ? null : 'done'; // the cell whose output it shows may still run
  return { ...nothing, state: failed ? 'failed' : done };
}

/**
 * Whether a cell that does not run has neither output nor a number: tools that strip those, for example before a
 * commit, keep the metadata with the stored run. One whose cluster ended before it had any is no such cell.
 */
export function isStripped(cell: CodeCell, run: IRun): boolean {
  const isRunning = cell.model.executionState === 'running';
  return !run.silent && !isRunning && isBare(cell);
}

function hasError({ model: { outputs } }: CodeCell): boolean {
  return Array.from({ length: outputs.length }, (_, i) => outputs.get(i)).some(
    output => output.type === 'error'
  );
}

/** Seconds for which the ranks have run a cell that has not ended, as far as known. */
function sinceOf({ started, ended }: IRun): number | null {
  return started === undefined
    ? null
    : Math.max(0, (ended ?? Date.now() / 1000) - started);
}

/** Name of the other notebook whose cell a cell waits for; empty if it waits for none. */
function waitsIn(
  { waits_for: [first], notebook }: CellRecord,
  names: Pick<IKernelRecords, 'notebookName'>
): string {
  const other = first?.notebook;
  return other && other !== notebook ? names.notebookName(other) : '';
}

/** Whether the ranks that were interrupted still have the processes, and so the variables, of that time. */
export function variablesSurvive({
  record,
  unheard
}: Pick<IRunStatus, 'record' | 'unheard'>): boolean {
  if (unheard?.clustersStopped) {
    return false; // the record is from before
  }
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
