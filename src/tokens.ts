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
export type Point = Schemas['Point'];
export type LogPiece = Schemas['LogPiece'];
export type LogLine = Schemas['Log'];
export type Finding = Schemas['Finding'];
export type Holder = Schemas['Holder'];
export type Slots = Schemas['Slots'];

/** How the browser stands to the server. */
export type Link = 'connecting' | 'open' | 'lost';

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
  /** Of the rank that has most, bytes: of its GPU, else of its process. */
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
  /** A rank is slow from this share above the median. */
  slowFrom: number;
  updatesPerSecond: number;
  notify: readonly ('trouble' | 'cells')[];
  /** Seconds; the end of a shorter cell is no news. */
  notifyCellsAfter: number;
}

/** All clusters of this user, as the panel shows them. */
export interface IClusters {
  /** Set by the panel's settings. */
  preferences: IPreferences;
  /** Emitted at each change, at most a few times a second. */
  readonly changed: ISignal<IClusters, void>;
  readonly clusters: readonly Cluster[];
  /** Jobs that run or ended lately, newest first; of one that has ended without its ranks. */
  readonly jobs: readonly Job[];
  readonly site: Site | null;
  readonly profiles: readonly Profile[];
  readonly link: Link;
  /** When the last frame came; null before the first. */
  readonly seen: Date | null;
  /** When the next attempt to connect is made; null while connected. */
  readonly retryAt: number | null;
  /** The cluster that the panel shows. */
  readonly selected: Cluster | null;
  /** Name of the kernelspec whose environment new ranks run in: the current notebook's; null for the server's. */
  kernel: string | null;
  /** Path of the current notebook: new ranks start in its folder; null for the server's root. */
  notebook: string | null;
  /** The current notebook's kernel has no dtrain-lab: what to do is said as long as it is so. */
  kernelLacks: boolean;
  /** Recent figures of a cluster, oldest first. */
  history(id: string): readonly IPoint[];
  select(id: string): void;
  /** The rank that sidebar and Ranks view show; null for none. */
  readonly selectedRank: number | null;
  selectRank(rank: number | null): void;
  /** Frames are asked for only while somebody looks: a viewer says when it begins and when it ends. */
  setVisible(visible: boolean, viewer: string): void;
  reconnect(): void;
  start(request: Partial<StartRequest>): Promise<Cluster>;
  stop(id: string): Promise<void>;
  interrupt(id: string): Promise<void>;
  restart(id: string, ranks: number[] | null): Promise<void>;
  resize(id: string, ranks: number): Promise<void>;
  stacks(id: string): Promise<{ rank: number; text: string | null }[]>;
  /** What takes a step's time; between cells, steps run again for it. */
  diagnose(id: string): Promise<Diagnosis>;
  /** Where a cluster's past can be had as a file. */
  exportUrl(id: string, format: 'csv' | 'json' | 'tensorboard'): string;
  /** Cells that a cluster knows of, oldest first. */
  cells(id: string): Promise<readonly CellRecord[]>;
}

export const IClusters = new Token<IClusters>(
  'dtrain-lab:IClusters',
  'All clusters of this user, live while somebody looks, and what can be done with them.'
);
