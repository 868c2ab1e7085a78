import { components } from './types';

/* Names of the server's types, as the page uses them. */

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
export type JobError = Schemas['JobError'];
export type JobPlan = Schemas['JobPlan'];
export type JobRequest = Schemas['JobRequest'];
export type JobMetrics = Schemas['JobMetrics'];
export type Diagnosis = Schemas['Diagnosis'];
export type Measurement = Schemas['Measurement'];
export type ProfileCheck = Schemas['ProfileCheck'];
export type CheckedProfile = Schemas['CheckedProfile'];
export type Tried = Schemas['Tried'];
export type Output = Schemas['Output'];
export type KernelUse = Schemas['KernelUse'];
export type Lost = Schemas['Lost'];
export type Point = Schemas['Point'];
export type LogPiece = Schemas['LogPiece'];
export type LogLine = Schemas['Log'];
export type LogBars = Schemas['LogBars'];
export type LogMatches = Schemas['LogMatches'];
export type Finding = Schemas['Finding'];
export type Holder = Schemas['Holder'];
export type Slots = Schemas['Slots'];
export type Sweep = Schemas['Sweep'];
export type SweepPlan = Schemas['SweepPlan'];
export type UnreadableSweep = Schemas['UnreadableSweep'];
export type Trial = Schemas['Trial'];
export type SweepRequest = Schemas['SweepRequest'];
