import { nullTranslator } from '@jupyterlab/translation';
import { describe, expect, it } from 'vitest';

import { makeCluster, makeRank } from '../testing/clusters';
import { splitOf } from '../metrics/split';
import { partsOf, waitsOf } from './stepParts';

const { metrics } = makeCluster();

describe('partsOf', () => {
  it('adds up to the step, with the rest as other', () => {
    const parts = partsOf({
      ...metrics,
      step_s: 0.1,
      compute_s: 0.05,
      data_s: 0.01,
      transfer_s: 0.02,
      wait_s: 0.005,
      comm_overhead: 0.25,
      optimizer_s: 0.005
    });
    expect(parts.map(p => p.part)).toEqual([
      'data',
      'own',
      'asleep',
      'transfer',
      'waiting',
      'optimizer',
      'other'
    ]);
    expect(parts.reduce((sum, p) => sum + p.share, 0)).toBeCloseTo(1);
    expect(parts[6].seconds).toBeCloseTo(0.01);
  });

  it('is never more than the step', () => {
    const parts = partsOf({
      ...metrics,
      step_s: 0.1,
      compute_s: 0.1,
      data_s: 0.1
    });
    expect(parts.reduce((sum, p) => sum + p.share, 0)).toBeCloseTo(1);
    expect(parts[0].share).toBeCloseTo(0.5);
  });

  it('takes what it waits for something else out of the rest, then out of computation', () => {
    const shares = (asleep_s: number | null) =>
      Object.fromEntries(
        partsOf({
          ...metrics,
          step_s: 0.1,
          compute_s: 0.04,
          comm_overhead: 0.1,
          optimizer_s: 0.01,
          asleep_s
        }).map(({ part, share }) => [part, Math.round(share * 100)])
      );
    expect(shares(null)).toMatchObject({ own: 40, asleep: 0, other: 40 });
    expect(shares(0.03)).toMatchObject({ own: 40, asleep: 30, other: 10 });
    expect(shares(0.6 / 10)).toMatchObject({ own: 20, asleep: 60, other: 0 });
    expect(shares(0.6)).toMatchObject({ own: 0, asleep: 80, other: 0 });
  });

  it('says the same of communication as all else does', () => {
    const slow = {
      ...metrics,
      step_s: 0.2,
      compute_s: 0.08,
      data_s: 0.02,
      transfer_s: 0.014,
      wait_s: 0.114,
      comm_overhead: 0.64
    };
    const shares = Object.fromEntries(
      partsOf(slow).map(p => [p.part, p.share])
    );
    expect(shares.transfer).toBeCloseTo(0.07);
    expect(shares.waiting).toBeCloseTo(0.57);
    expect(shares.transfer).toBe(splitOf(slow)!.transfer);
    expect(shares.waiting).toBe(splitOf(slow)!.waiting);
    // what was measured too long is not taken from communication
    expect(shares.own + shares.data).toBeCloseTo(0.36);
    expect(shares.other).toBe(0);
  });

  it('is empty where nothing is known', () => {
    expect(partsOf(metrics)).toEqual([]);
  });
});

it('says how long each of two ranks waits where that differs', () => {
  const trans = nullTranslator.load('dtrain_lab');
  const ranks = [0.04, 0, 0].map((wait_s, n) => makeRank(n, { wait_s }));
  expect(waitsOf(ranks.slice(0, 2), trans)).toBe(
    'rank 0: 40\u00a0ms, rank 1: 0.0\u00a0ms'
  );
  expect(waitsOf(ranks, trans)).toBe('');
  expect(waitsOf([ranks[1], ranks[2]], trans)).toBe('');
});
