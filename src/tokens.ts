import { Token } from '@lumino/coreutils';
import { IDisposable } from '@lumino/disposable';
import { ISignal } from '@lumino/signaling';

import type {
  ActiveSweeps,
  CellRecord,
  Cluster,
  Diagnosis,
  Job,
  Output,
  Profile,
  Site,
  StartRequest,
  Tried,
  Verdict
} from './api/schemas';

export * from './api/schemas';

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
  /** Ranks that are lost; null if unknown, as from a head of an earlier version. */
  lost: readonly number[] | null;
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
  /** Whether the start and the end of jobs are notified. */
  notifyJobs: boolean;
  notifyCells: boolean;
  /** Seconds; the end of a shorter cell is not notified. */
  notifyCellsAfter: number;
}

/** The user's settings: their defaults until JupyterLab has read them. */
export interface IPreferences {
  readonly changed: ISignal<IPreferences, void>;
  readonly values: IPreferenceValues;
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
  /** Read the profiles again: their files may have been edited elsewhere. One request at a time. */
  readProfiles(): Promise<void>;
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

/** All clusters and jobs of this user, live while there are any, or somebody watches. */
export interface ILiveState extends IConnection, IIgnoredVerdicts {
  /** Emitted at each change, at most a few times a second. */
  readonly changed: ISignal<ILiveState, void>;
  /** Time of the last change, ms: what is shown is of that time. */
  readonly at: number;
  /** Those that run or start; without verdicts that the user ignores. */
  readonly clusters: readonly Cluster[];
  /** Show a cluster that was just requested before the next frame. */
  add(cluster: Cluster): void;
  readonly endings: Endings;
  /** Clusters that ended by themselves while no page was open, in their last states, oldest first. */
  readonly untold: readonly Cluster[];
  /** Jobs that run or ended recently, newest first; ended ones without their ranks. */
  readonly jobs: readonly Job[];
  /** States of the sweeps that have not ended, by id; between two trials, none of a sweep's jobs runs. */
  readonly sweeps: ActiveSweeps;
  /** Recent metrics of a cluster, oldest first. */
  history(id: string): readonly IPoint[];
  /**
   * Request frames until what is returned is disposed of. A view does so while it is visible; the model itself
   * does so while there is a cluster, or a job or sweep that has not ended.
   */
  watch(): IDisposable;
  /** Ask the server now whether there is a cluster, a job or a sweep, such as after code that may have started one. */
  look(): void;
  /** Whether the server has said which clusters and jobs there are. */
  readonly isKnown: boolean;
}

export const ILiveState = new Token<ILiveState>(
  'dtrain-lab:ILiveState',
  'All clusters and jobs of this user, live while there are any, or somebody watches.'
);

/** What the user has done with advice. */
export interface IAdviceState {
  /** Emitted when advice is dismissed or applied, or this is undone, and when a trial begins or ends. */
  readonly changed: ISignal<IAdviceState, void>;
  /** Whether advice on a cluster is dismissed. */
  isDismissed(id: string, advice: string): boolean;
  dismiss(id: string, advice: string, dismissed?: boolean): void;
  /** Whether a change that advice suggests was applied to its cell, and is still there. */
  isKept(id: string, diff: string): boolean;
  keep(id: string, diff: string, kept: boolean): void;
  /** Whether advice on a cluster is being tried, from whichever view of this page. */
  isTrying(id: string, advice: string): boolean;
  setTrying(id: string, advice: string, trying: boolean): void;
  /** The advice on a cluster that was tried last from this page; null after another diagnosis. */
  lastTried(id: string): ITriedAt | null;
  setTried(id: string, tried: ITriedAt | null): void;
}

/** Advice that the user has tried, and its place among the others when *Try it* was clicked. */
export interface ITriedAt {
  advice: string;
  at: number;
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
  /** Whether its kernel has no dtrain-lab that can be loaded; the panel then says what to do. */
  lacks: boolean;
  /** The error with which dtrain-lab could not be loaded there; empty if it is not installed. */
  failure?: string | null;
}

/** Selection that all views share: a cluster, one of its ranks, and the current notebook. */
export interface ISelection {
  /**
   * Emitted when the selection changes, also by a frame: views may hear of a frame before the selection does.
   * Not emitted with frames that leave it as it is.
   */
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

export * from './jobTokens';
export * from './recordTokens';
