import { expect, it } from 'vitest';

import {
  formatAgo,
  formatDigits,
  formatFixed,
  formatGiB,
  formatLonger,
  formatMegabytes,
  formatRanks,
  formatRate,
  formatRun,
  formatShare,
  formatTime,
  formatValue,
  UNKNOWN,
  unbroken
} from './format';

it('formats rates: one decimal below 100, whole to 9,999, then k and M', () => {
  expect(formatRate(12.34)).toBe('12.3');
  expect(formatRate(1286.4)).toBe('1,286');
  expect(formatRate(212_300)).toBe('212k');
  expect(formatRate(1_240_000)).toBe('1.24M');
  expect(formatRate(999_700)).toBe('1.00M');
});

it('tells a large difference as a factor', () => {
  expect(formatLonger(0.15)).toBe('+15\u00a0%');
  expect(formatLonger(0.996)).toBe('+100\u00a0%');
  expect(formatLonger(1.3)).toBe('2.3×');
  expect(formatLonger(114.79)).toBe('116×');
});

it('formats times in the unit that people would use', () => {
  expect(formatTime(0.0123)).toBe('12\u00a0ms');
  expect(formatTime(0.199)).toBe('199\u00a0ms');
  expect(formatTime(3.84)).toBe('3.8\u00a0s');
  expect(formatTime(41)).toBe('41\u00a0s');
  expect(formatTime(372)).toBe('6\u00a0min 12\u00a0s');
  expect(formatTime(8040)).toBe('2\u00a0h 14\u00a0min');
  expect([formatTime(2460), formatTime(7230)]).toEqual([
    '41\u00a0min',
    '2\u00a0h'
  ]);
});

it('says for how long a job has run as its sentence does, and in whole seconds while it runs', () => {
  // the same as in the test of `duration` (tests/unit/jobs/test_job_state.py)
  expect(
    [0.04, 3.84, 9.5, 9.96, 41.2, 372, 8040].map(s => formatRun(s, true))
  ).toEqual(
    ['0.0 s', '3.8 s', '9.5 s', '10 s', '41 s', '6 min 12 s', '2 h 14 min'].map(
      text => text.replace(/(\d) /g, '$1\u00a0')
    )
  );
  expect(formatRun(9.5, false)).toBe('10\u00a0s');
  expect(formatRun(null, true)).toBe(UNKNOWN);
});

it('never shows the unknown as zero', () => {
  for (const format of [
    formatRate,
    formatTime,
    formatValue,
    formatGiB,
    formatMegabytes,
    formatShare,
    formatMegabytes
  ]) {
    expect(format(null)).toBe(UNKNOWN);
  }
});

it('gives traffic in megabytes, not mebibytes', () => {
  expect(formatMegabytes(118_000_000)).toBe('118');
  expect(formatMegabytes(340_000)).toBe('0.3');
});

it('shortens ranks', () => {
  expect(formatRanks([4, 0, 2, 3])).toBe('0, 2–4');
});

it('keeps numbers beside their units', () => {
  expect(
    unbroken(
      'step 65\u00a0ms · 977\u00a0samples/s, 28\u00a0%\u00a0±\u00a010 for 1\u00a0min 1\u00a0s'
    )
  ).toBe(
    'step 65\u00a0ms · 977\u00a0samples/s, 28\u00a0%\u00a0±\u00a010 for 1\u00a0min 1\u00a0s'
  );
  expect(unbroken('2 ranks, 4 seconds')).toBe('2 ranks, 4 seconds');
  expect(unbroken('Ranks 0, 2–3')).toBe('Ranks 0, 2\u2060–\u20603');
});

it('writes numbers in one way, whatever their size', () => {
  expect(formatFixed(1234.5, 2)).toBe('1,234.50');
  expect(formatDigits(0.03451, 2)).toBe('0.035');
  expect(formatDigits(1.2, 3)).toBe('1.20');
  expect(formatDigits(1.2, 3, false)).toBe('1.2');
  expect(formatValue(0.00001234, 2)).toBe('1.2e-5');
  expect(formatValue(123456)).toBe('123,500');
});

it('says how long ago a time was, in the largest unit that fits', () => {
  const ago = (seconds: number): string =>
    formatAgo(new Date(1e12 - seconds * 1000), 1e12);
  expect(ago(-5)).toBe('now');
  expect(ago(59)).toBe('59 seconds ago');
  expect(ago(5 * 60)).toBe('5 minutes ago');
  expect(ago(26 * 3600)).toBe('yesterday');
  expect(ago(20 * 86_400)).toBe('2 weeks ago');
  expect(ago(800 * 86_400)).toBe('2 years ago');
});
