import { Token } from '@lumino/coreutils';
import { ISignal } from '@lumino/signaling';

import { components } from './api/types';

type Schemas = components['schemas'];

export type Cluster = Schemas['Cluster'];
export type Rank = Schemas['Rank'];
export type Node = Schemas['Node'];
export type Advice = Schemas['Advice'];
export type Metrics = Schemas['Metrics'];
export type Verdict = Schemas['Verdict'];
export type Standing = Schemas['Standing'];
export type Stack = Schemas['Stack'];
export type StackFrame = Schemas['StackFrame'];
export type Site = Schemas['Site'];
export type Profile = Schemas['Listed'];
export type StartRequest = Schemas['Request'];
export type ApiError = Schemas['Error'];
export type Frame = Schemas['LiveFrame'];
export type CellRecord = Schemas['CellRecord'];
export type Job = Schemas['Job'];
export type JobPlan = Schemas['JobPlan'];
export type JobRequest = Schemas['JobRequest'];
export type JobMetrics = Schemas['JobMetrics'];
export type Diagnosis = Schemas['Diagnosis'];
export type Tried = Schemas['Tried'];
export type Output = Schemas['Output'];
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

/** How the browser stands to the server. */
export type Link = 'connecting' | 'open' | 'lost';

/** How a server was stopped: its machine's clusters stop with it, or wait for the next one. */
export type Stopped = 'with clusters' | 'alone';

/** One point of a cluster's recent past; null where not known. */
export interface IPoint {
  /** When, ms. */
  at: number;
  samples: number | null;
  overhead: number | null;
  /** Share of the step that is waiting for slower ranks. */
  waiting: number | null;
  /** Generation of the world: it grows when the group is rebuilt. */
  generation: number;
  /** Own time of each rank, s; NaN where not known. */
  own: Float32Array;
  /** Median of these; null where none is known. */
  middle: number | null;
  /** Ranks that have been slow for some seconds now, and were not before. */
  slowed: readonly number[];
  /** Ranks that the head calls slow; null where that is not known: before this page looked. */
  slow: readonly number[] | null;
  /** Share by which own times may be off, as communication is estimated. */
  unsure: number;
  /** Memory of the rank that uses most, in bytes: of its GPU, or else of its process. */
  memory: number | null;
  /** Bytes a second that the busiest node sends and receives. */
  network: number | null;
  /** The same of half of the nodes; null of what was before this page looked. */
  networkMiddle: number | null;
  /** The user's own values, by `dt.log`; the latest of each. */
  values: Readonly<Record<string, number>>;
}

/** What a user may choose, as the settings have it. */
export interface IPreferences {
  updatesPerSecond: number;
  notifyTrouble: boolean;
  notifyCells: boolean;
  /** Seconds; the end of a shorter cell is no news. */
  notifyCellsAfter: number;
}

/** All clusters and jobs of this user, live while somebody looks. */
export interface IClusters {
  readonly preferences: IPreferences;
  /** Settings are applied at once. */
  configure(preferences: Partial<IPreferences>): void;
  /** Emitted at each change, at most a few times a second. */
  readonly changed: ISignal<IClusters, void>;
  readonly clusters: readonly Cluster[];
  /** One that was just asked for is shown before the next frame. */
  add(cluster: Cluster): void;
  /** Put aside what holds a cluster up, in this browser, until that changes or ends: it is not among its verdicts. */
  ignore(id: string): void;
  /** Show again what was put aside of a cluster. */
  showIgnored(id: string): void;
  /** What is put aside of a cluster; null where nothing is. */
  ignored(id: string): Verdict | null;
  /** Jobs that run or ended lately, newest first; of one that has ended without its ranks. */
  readonly jobs: readonly Job[];
  readonly site: Site | null;
  readonly profiles: readonly Profile[];
  /** Profiles were written: these are all. */
  takeProfiles(profiles: readonly Profile[]): void;
  readonly link: Link;
  /** When the last frame came; null before the first. */
  readonly seen: Date | null;
  /** When the next attempt to connect is made; null while connected. */
  readonly retryAt: number | null;
  /** Without a connection: what the server has said of its own end; null where it was not stopped. */
  readonly stopped: Stopped | null;
  reconnect(): void;
  /** Recent figures of a cluster, oldest first. */
  history(id: string): readonly IPoint[];
  /** Frames are asked for only while somebody looks: a viewer says when it begins and when it ends. */
  setVisible(visible: boolean, viewer: string): void;
}

export const IClusters = new Token<IClusters>(
  'dtrain-lab:IClusters',
  'All clusters and jobs of this user, live while somebody looks.'
);

/** The current notebook: new ranks belong to it. */
export interface ICurrentNotebook {
  /** Its path: new ranks start in its folder; null for the server's root. */
  path: string | null;
  /** Its path as its kernel has it, where it was renamed since the kernel started: clusters name it so. */
  startedAs?: string | null;
  /** Name of the kernelspec whose environment new ranks run in; null for the server's. */
  kernel: string | null;
  /** Its kernel has no dtrain-lab: what to do is said as long as it is so. */
  lacks: boolean;
}

/** What all views show: a cluster, a rank of it, the current notebook, and what somebody has put aside. */
export interface ISelection {
  /** Emitted when somebody has chosen something else, and not with each frame. */
  readonly changed: ISignal<ISelection, void>;
  /** The cluster that the panel shows; it may have ended. */
  readonly cluster: Cluster | null;
  select(id: string): void;
  /** Show a cluster that was just asked for, in place of those that have ended. */
  begin(id: string): void;
  /** Clusters that ended while somebody looked, until they are forgotten. */
  readonly ended: readonly Cluster[];
  forget(id: string): void;
  /** The rank that sidebar and Ranks view show; null for none. */
  readonly rank: number | null;
  selectRank(rank: number | null): void;
  /** Advice on a cluster that somebody does not want to see again. */
  isDismissed(id: string, advice: string): boolean;
  dismiss(id: string, advice: string, dismissed?: boolean): void;
  /** Whether a change that advice on a cluster suggests was put into its cell, and is there. */
  isKept(id: string, diff: string): boolean;
  keep(id: string, diff: string, kept: boolean): void;
  readonly notebook: ICurrentNotebook;
  setNotebook(notebook: ICurrentNotebook): void;
}

export const ISelection = new Token<ISelection>(
  'dtrain-lab:ISelection',
  'The cluster, the rank and the notebook that all views show.'
);

/** What can be done with clusters, and asked of them. */
export interface IClusterActions {
  start(request: Partial<StartRequest>): Promise<Cluster>;
  stop(id: string): Promise<void>;
  interrupt(id: string): Promise<void>;
  /** New processes for ranks; with the variables of another, if one is named. */
  restart(
    id: string,
    ranks: number[] | null,
    source?: number | null
  ): Promise<void>;
  /** Go on without lost ranks. */
  leaveOut(id: string, ranks: number[]): Promise<void>;
  resize(id: string, ranks: number): Promise<void>;
  /** What takes a step's time; between cells, steps run again for it. */
  diagnose(id: string): Promise<Diagnosis>;
  /** What advice gains; steps run with the change and without it, and are taken back. */
  tryAdvice(id: string, advice: string): Promise<Tried>;
  /** The end of what was printed, oldest first; where possible from before the last output of each of these ranks. */
  lastOutput(id: string, ranks: readonly number[]): Promise<readonly Output[]>;
  /** Cells that a cluster knows of, oldest first. */
  cells(id: string): Promise<readonly CellRecord[]>;
  /** Where a cluster's past can be had as a file. */
  exportUrl(id: string, format: 'csv' | 'json' | 'tensorboard'): string;
}

export const IClusterActions = new Token<IClusterActions>(
  'dtrain-lab:IClusterActions',
  'What can be done with clusters of this user.'
);

/** A sweep that is asked for; defaults may be left out. */
export type WantedSweep = Partial<SweepRequest> &
  Pick<SweepRequest, 'notebook' | 'space' | 'objective'>;

/** Sweeps of this user, as the server answers for them. */
export interface ISweeps {
  /** Newest first. */
  all(): Promise<Sweep[]>;
  /** Those whose records can't be read: another version wrote them, or they are damaged. */
  unreadable(): Promise<UnreadableSweep[]>;
  get(id: string): Promise<Sweep>;
  /** What would begin; nothing does. `ask`: the scheduler, too. */
  plan(wanted: WantedSweep, ask: boolean): Promise<SweepPlan>;
  begin(wanted: WantedSweep): Promise<Sweep>;
  /** Its trials end; their checkpoints stay. */
  stop(id: string): Promise<Sweep>;
  /** Trials that were stopped go on from their checkpoints, or begin anew without one; the others begin. */
  resume(id: string): Promise<Sweep>;
}

export const ISweeps = new Token<ISweeps>(
  'dtrain-lab:ISweeps',
  'Sweeps of this user, as the server answers for them.'
);
