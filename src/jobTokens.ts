import { INotebookContent } from '@jupyterlab/nbformat';
import { Token } from '@lumino/coreutils';
import { ISignal } from '@lumino/signaling';

import type {
  Job,
  JobMetrics,
  JobPlan,
  JobRequest,
  LogMatches,
  LogPiece,
  Slots,
  Sweep,
  SweepPlan,
  SweepRequest,
  UnreadableSweep
} from './api/schemas';

/** Request for a job; defaults may be omitted. */
export type WantedJob = Partial<JobRequest> & Pick<JobRequest, 'notebook'>;

/** Where to read in a log, and of which ranks. */
export interface ILogQuery {
  offset: string;
  ranks?: string;
  firstError?: boolean;
  search?: string;
  /** Wait at the server for the next line, for a while. */
  wait?: boolean;
}

/** Jobs of this user, as the server answers for them. */
export interface IJobs {
  /** All jobs, newest first. */
  all(): Promise<Job[]>;
  /** Ask for all jobs now, while the code that shows them is loaded: an `all` within the next seconds gets the answer. */
  askAhead(): void;
  /** The last answer about all jobs, so that a list that is opened again is drawn at once; empty before it. */
  readonly lastAnswer: readonly Job[];
  get(id: string): Promise<Job>;
  /** Plan a job without submitting it. `ask`: also ask the scheduler. */
  plan(wanted: WantedJob, ask: boolean): Promise<JobPlan>;
  /** Submit the previewed plan unchanged. */
  submit(notebook: string, plan: string): Promise<Job>;
  slots(profile: string): Promise<Slots>;
  /** End a process of the user on a GPU. */
  stopHolder(id: string, profile: string): Promise<Slots>;
  /** The notebook with the first rank's output. */
  executed(id: string): Promise<INotebookContent>;
  /** The request that a job was submitted with. */
  requestOf(id: string): Promise<JobRequest>;
  cancel(id: string): Promise<Job>;
  resume(id: string): Promise<Job>;
  /** Remove it with its folder. */
  remove(id: string): Promise<Job>;
  metrics(id: string): Promise<JobMetrics>;
  logs(id: string, query: ILogQuery): Promise<LogPiece>;
  /** The number of a log's lines that contain `search`, before `offset` and after it. */
  logMatches(
    id: string,
    query: Pick<ILogQuery, 'offset' | 'ranks' | 'search'>
  ): Promise<LogMatches>;
}

export const IJobs = new Token<IJobs>(
  'dtrain-lab:IJobs',
  'Jobs of this user, as the server answers for them.'
);

/** Request for a sweep; defaults may be omitted. */
export type WantedSweep = Partial<SweepRequest> &
  Pick<SweepRequest, 'notebook' | 'space' | 'objective'>;

/** Sweeps of this user, as the server answers for them. */
export interface ISweeps {
  /** Newest first. */
  all(): Promise<Sweep[]>;
  /** The last answer about all sweeps; empty before it. */
  readonly lastAnswer: readonly Sweep[];
  /** Every sweep that any answer has described, as last described; without those that were removed here. */
  readonly known: readonly Sweep[];
  /** Those whose records can't be read: another version wrote them, or they are damaged. */
  unreadable(): Promise<UnreadableSweep[]>;
  get(id: string): Promise<Sweep>;
  /** Plan a sweep without starting it. `ask`: also ask the scheduler. */
  plan(wanted: WantedSweep, ask: boolean): Promise<SweepPlan>;
  begin(wanted: WantedSweep): Promise<Sweep>;
  /** End its trials; their checkpoints are kept. */
  stop(id: string): Promise<Sweep>;
  /** Resume stopped trials from their checkpoints, or from the beginning without one; start the others. */
  resume(id: string): Promise<Sweep>;
  /** Remove it, and the jobs of its trials with their folders and checkpoints. */
  remove(id: string): Promise<Sweep>;
  /** Sweeps as the server has just described them, whoever asked: all views show the same state. */
  readonly seen: ISignal<ISweeps, readonly Sweep[]>;
  /** Those that were stopped here, and have not ended yet; `seen` tells of their end. */
  readonly stopping: readonly Sweep[];
  /** A sweep was removed. */
  readonly removed: ISignal<ISweeps, string>;
}

export const ISweeps = new Token<ISweeps>(
  'dtrain-lab:ISweeps',
  'Sweeps of this user, as the server answers for them.'
);
