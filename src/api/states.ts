// Generated from dtrain_lab/wire/kinds.py by `make types`: do not edit.
export const JOB_ENDED: readonly string[] = [
  'cancelled',
  'failed',
  'lost',
  'succeeded'
];
export const ENDED: readonly string[] = ['failed', 'stopped'];
export const ENDING: readonly string[] = ['failed', 'stopped', 'stopping'];
export const SWEEP_PARTLY_SUCCEEDED = 'sweep_partly_succeeded';
