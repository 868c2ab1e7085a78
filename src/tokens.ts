import { Token } from '@lumino/coreutils';
import { ISignal } from '@lumino/signaling';

import { components } from './api/types';

type Schemas = components['schemas'];

export type Cluster = Schemas['Cluster'];
export type Rank = Schemas['Rank'];
export type Node = Schemas['Node'];
export type Advice = Schemas['Advice'];
export type Metrics = Schemas['Metrics'];
export type Last = Schemas['Last'];
export type Verdict = Schemas['Verdict'];
export type HangPosition = Schemas['HangPosition'];
export type Stack = Schemas['Stack'];
export type StackFrame = Schemas['StackFrame'];
export type Site = Schemas['Site'];
export type Profile = Schemas['Listed'];
export type StartRequest = Schemas['Request'];
export type ApiError = Schemas['Error'];
export type Frame = Schemas['LiveFrame'];
export type CellKind = Schemas['CellRecord']['kind'];
export type CellRecord = Schemas['CellRecord'];
export type Job = Schemas['Job'];
export type JobPlan = Schemas['JobPlan'];
export type JobRequest = Schemas['JobRequest'];
export type JobMetrics = Schemas['JobMetrics'];
export type Diagnosis = Schemas['Diagnosis'];
export type Tried = Schemas['Tried'];
export type Output = Schemas['Output'];
export type KernelUse = Schemas['KernelUse'];
export type Lost = Schemas['Lost'];
export type Point = Schemas['Point'];
export type LogPiece = Schemas['LogPiece'];
export type LogLine = Schemas['Log'];
export type Finding = Schemas['Finding'];
export type Holder = Schemas['Holder'];
export type Slots = Schemas['Slots'];
export type Sweep = Schemas['Sweep'];
export type SweepPlan = Schemas['SweepPlan'];
export type UnreadableSweep = Schemas['UnreadableSweep'];
export type Trial = Schemas['Trial'];
export type SweepRequest = Schemas['SweepRequest'];

/** State of the connection to the server. */
export type Link = 'connecting' | 'open' | 'lost';

/** How a server was stopped: clusters of its machine stop with it, or wait for the next server. */
export type Stopped = 'with clusters' | 'alone';

/** One point of a cluster's recent history; null if unknown. */
export interface IPoint {
  /** Time, ms. */
  at: number;
  samples: number | null;
  overhead: number | null;
  /** Error of that share; null if it has none, or is a lower bound. */
  overheadError: number | null;
  /** Share of the step spent waiting for slower ranks. */
  waiting: number | null;
  /** Generation of the world, which grows when the group is rebuilt. */
  generation: number;
  /** Own time of each rank, s; NaN if unknown. */
  own: Float32Array;
  /** Median of these; null if none is known. */
  middle: number | null;
  /** Ranks that have become slow, and have been so for some seconds. */
  slowed: readonly number[];
  /** Ranks that the head calls slow; null if unknown, as from a head of an earlier version. */
  slow: readonly number[] | null;
  /** Relative error of own times, from the estimate of communication. */
  unsure: number;
  /** Memory of the rank that uses most, bytes: of its GPU, or else of its process. */
  memory: number | null;
  /** Bytes per second that the busiest node sends and receives. */
  network: number | null;
  /** The same for the median node; null before this page was opened. */
  networkMiddle: number | null;
  /** The user's own values, by `dt.log`; the latest of each. */
  values: Readonly<Record<string, number>>;
}

/** The values of the user's settings. */
export interface IPreferenceValues {
  updatesPerSecond: number;
  notifyTrouble: boolean;
  notifyCells: boolean;
  /** Seconds; the end of a shorter cell is not notified. */
  notifyCellsAfter: number;
}

/** The user's settings. */
export interface IPreferences {
  readonly values: IPreferenceValues;
  /** Change some of them, at once. */
  configure(values: Partial<IPreferenceValues>): void;
}

export const IPreferences = new Token<IPreferences>(
  'dtrain-lab:IPreferences',
  "The user's settings."
);

/** What the server has: its machine, and the profiles of this user. */
export interface ISite {
  /** Emitted when the server has answered, and when a profile is written. */
  readonly changed: ISignal<ISite, void>;
  /** The machine, and what this user may do there; null until the server has answered. */
  readonly facts: Site | null;
  readonly profiles: readonly Profile[];
  /** Set all profiles, after they were written. */
  setProfiles(profiles: readonly Profile[]): void;
  /** Ask the server, again if it has answered before. */
  load(): Promise<void>;
}

export const ISite = new Token<ISite>(
  'dtrain-lab:ISite',
  "The server's machine and profiles."
);

/** The connection to the server. */
export interface IConnection {
  readonly link: Link;
  /** Time of the last frame; null before the first. */
  readonly lastFrameAt: Date | null;
  /** Time of the next attempt to connect; null while connected. */
  readonly retryAt: number | null;
  /** Without a connection: the server's announcement of its own end; null if it was not stopped. */
  readonly stopped: Stopped | null;
  reconnect(): void;
}

/** Verdicts that the user ignores in this browser: each until it changes or ends. */
export interface IIgnoredVerdicts {
  /** Ignore what holds a cluster up: it is then not among its verdicts. */
  ignore(id: string): void;
  /** Show the ignored verdicts of a cluster again. */
  showIgnored(id: string): void;
  /** The ignored verdict of a cluster; null for none. */
  ignored(id: string): Verdict | null;
}

/** The last state of clusters that have ended, by id: its values say who has stopped one, and when. */
export type Endings = Readonly<Record<string, Cluster['summary']>>;

/** All clusters and jobs of this user, live while somebody looks. */
export interface ILiveState extends IConnection, IIgnoredVerdicts {
  /** Emitted at each change, at most a few times a second. */
  readonly changed: ISignal<ILiveState, void>;
  /** Those that run or start; without verdicts that the user ignores. */
  readonly clusters: readonly Cluster[];
  /** Show a cluster that was just requested before the next frame. */
  add(cluster: Cluster): void;
  readonly endings: Endings;
  /** Jobs that run or ended recently, newest first; ended ones without their ranks. */
  readonly jobs: readonly Job[];
  /** Recent metrics of a cluster, oldest first. */
  history(id: string): readonly IPoint[];
  /**
   * Frames are requested only while there are viewers: a viewer registers when it becomes visible, and
   * unregisters when hidden.
   */
  setVisible(visible: boolean, viewer: string): void;
}

export const ILiveState = new Token<ILiveState>(
  'dtrain-lab:ILiveState',
  'All clusters and jobs of this user, live while somebody looks.'
);

/** What the user has done with advice. */
export interface IAdviceState {
  /** Emitted when advice is dismissed or applied, or this is undone. */
  readonly changed: ISignal<IAdviceState, void>;
  /** Whether advice on a cluster is dismissed. */
  isDismissed(id: string, advice: string): boolean;
  dismiss(id: string, advice: string, dismissed?: boolean): void;
  /** Whether a change that advice suggests was applied to its cell, and is still there. */
  isKept(id: string, diff: string): boolean;
  keep(id: string, diff: string, kept: boolean): void;
}

export const IAdviceState = new Token<IAdviceState>(
  'dtrain-lab:IAdviceState',
  'Advice that the user has dismissed or applied.'
);

/** The current notebook, to which new ranks belong. */
export interface ICurrentNotebook {
  /** Its path: new ranks start in its folder; null for the server's root folder. */
  path: string | null;
  /** Its path as known to its kernel, which differs after a rename; clusters use this path. */
  startedAs?: string | null;
  /** Id of the cluster that its kernel used last, also where it has ended. */
  lastCluster?: string | null;
  /** Name of the kernelspec in whose environment new ranks run; null for the server's. */
  kernel: string | null;
  /** Whether its kernel has no dtrain-lab; the panel then says what to do. */
  lacks: boolean;
}

/** Selection that all views share: a cluster, one of its ranks, and the current notebook. */
export interface ISelection {
  /** Emitted when the selection changes, not with each frame. */
  readonly changed: ISignal<ISelection, void>;
  /** The cluster that the panel shows; it may have ended. */
  readonly cluster: Cluster | null;
  /** The cluster that menus act on: the one of the current notebook, else the panel's. */
  readonly current: Cluster | null;
  select(id: string): void;
  /** Show a cluster that was just requested, instead of ended ones. */
  begin(id: string): void;
  /** Clusters that ended while the page was open, until they are forgotten. */
  readonly ended: readonly Cluster[];
  forget(id: string): void;
  /** The rank that sidebar and Ranks view show; null for none. */
  readonly rank: number | null;
  selectRank(rank: number | null): void;
  readonly notebook: ICurrentNotebook;
  setNotebook(notebook: ICurrentNotebook): void;
}

export const ISelection = new Token<ISelection>(
  'dtrain-lab:ISelection',
  'The cluster, the rank and the notebook that all views show.'
);

/** Actions on clusters, and requests to them. */
export interface IClusterActions {
  start(request: Partial<StartRequest>): Promise<Cluster>;
  stop(id: string): Promise<void>;
  interrupt(id: string): Promise<void>;
  /** Start new processes for ranks, with the variables of another rank if one is named. */
  restart(
    id: string,
    ranks: number[] | null,
    source?: number | null
  ): Promise<void>;
  /** Continue without lost ranks. */
  leaveOut(id: string, ranks: number[]): Promise<void>;
  resize(id: string, ranks: number): Promise<void>;
  /** Measure what takes a step's time; between cells, steps are repeated for it. */
  diagnose(id: string): Promise<Diagnosis>;
  /** Measure the gain of advice: steps run with and without the change, and are undone. */
  tryAdvice(id: string, advice: string): Promise<Tried>;
  /** The end of the output, oldest first; if possible from before the last output of each of these ranks. */
  lastOutput(id: string, ranks: readonly number[]): Promise<readonly Output[]>;
  /** Cells that a cluster knows, oldest first. */
  cells(id: string): Promise<readonly CellRecord[]>;
  /** URL of a cluster's history as a file. */
  exportUrl(id: string, format: 'csv' | 'json' | 'tensorboard'): string;
}

export const IClusterActions = new Token<IClusterActions>(
  'dtrain-lab:IClusterActions',
  'What can be done with clusters of this user.'
);

/** Request for a sweep; defaults may be omitted. */
export type WantedSweep = Partial<SweepRequest> &
  Pick<SweepRequest, 'notebook' | 'space' | 'objective'>;

/** Sweeps of this user, as the server answers for them. */
export interface ISweeps {
  /** Newest first. */
  all(): Promise<Sweep[]>;
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
  /** A sweep was removed. */
  readonly removed: ISignal<ISweeps, string>;
}

export const ISweeps = new Token<ISweeps>(
  'dtrain-lab:ISweeps',
  'Sweeps of this user, as the server answers for them.'
);
