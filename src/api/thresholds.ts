// Generated from dtrain_lab/wire/metrics/thresholds.py by `make types`: do not edit.
export const VAGUE_SHARE = 0.3;
export const WORTH_A_CHANGE = 0.2;
export const ROUGH_GAIN = 0.5;
export const WIDE_GAIN = 0.6;
export const LEAST_GAIN = 0.03;
export const TIMES_GAIN = 2.0;
export const FEW_BATCHES = 12;
