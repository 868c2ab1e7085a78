import { nullTranslator } from '@jupyterlab/translation';
import { describe, expect, it } from 'vitest';

import { makeRank } from '../testing/clusters';
import {
  ISplit,
  namedParts,
  PARTS,
  shareTexts,
  splitOf,
  StepPart
} from './split';

const trans = nullTranslator.load('dtrain_lab');

/** The sum of all parts. */
function sumOf(split: ISplit): number {
  return PARTS.reduce((sum, part) => sum + split[part], 0);
}

describe('splitOf', () => {
  it('adds up to the step, with the rest as other', () => {
    const split = splitOf(
      makeRank(0, {
        step_s: 0.1,
        compute_s: 0.05,
        data_s: 0.01,
        transfer_s: 0.02,
        wait_s: 0.005,
        comm_overhead: 0.25,
        optimizer_s: 0.005
      })
    )!;
    expect(split.own).toBeCloseTo(0.5);
    expect(split.waiting).toBeCloseTo(0.05);
    expect(split.other).toBeCloseTo(0.1);
    expect(sumOf(split)).toBeCloseTo(1);
  });

  it('is never more than the step', () => {
    const rank = makeRank(0, {
      step_s: 0.1,
      compute_s: 0.1,
      data_s: 0.1,
      comm_overhead: 0
    });
    const split = splitOf(rank)!;
    expect(sumOf(split)).toBeCloseTo(1);
    expect(split.data).toBeCloseTo(0.5);
  });

  it('takes what it waits for something else out of the rest, then out of computation', () => {
    const shares = (asleep_s: number | null): Record<StepPart, number> => {
      const split = splitOf(
        makeRank(0, {
          step_s: 0.1,
          compute_s: 0.04,
          comm_overhead: 0.1,
          optimizer_s: 0.01,
          asleep_s
        })
      )!;
      return Object.fromEntries(
        PARTS.map(part => [part, Math.round(split[part] * 100)])
      ) as Record<StepPart, number>;
    };
    expect(shares(null)).toMatchObject({ own: 40, asleep: 0, other: 40 });
    expect(shares(0.03)).toMatchObject({ own: 40, asleep: 30, other: 10 });
    expect(shares(0.06)).toMatchObject({ own: 20, asleep: 60, other: 0 });
    expect(shares(0.6)).toMatchObject({ own: 0, asleep: 80, other: 0 });
  });

  it('takes nothing from communication for what was measured too long', () => {
    const split = splitOf(
      makeRank(0, {
        step_s: 0.2,
        compute_s: 0.08,
        data_s: 0.02,
        transfer_s: 0.014,
        wait_s: 0.114,
        comm_overhead: 0.64
      })
    )!;
    expect(split.transfer).toBeCloseTo(0.07);
    expect(split.waiting).toBeCloseTo(0.57);
    expect(split.own + split.data).toBeCloseTo(0.36);
    expect(split.other).toBe(0);
  });

  it('calls communication transfer where it does not know how much is waiting', () => {
    const rank = makeRank(0, { step_s: 0.1, comm_overhead: 0.25 });
    expect(splitOf(rank)).toMatchObject({ transfer: 0.25, waiting: 0 });
  });

  it('is null without steps, or if nothing is known of communication', () => {
    expect(splitOf(makeRank(0))).toBeNull();
    expect(splitOf(makeRank(0, { step_s: 0.1 }))).toBeNull();
  });
});

describe('namedParts', () => {
  const texts = (split: ISplit): string[] =>
    namedParts(split, trans).map(({ text }) => text.replace(/\u00a0/g, ' '));
  const none = Object.fromEntries(PARTS.map(part => [part, 0])) as ISplit;

  it('calls a sleep of the loop other, not forward and backward', () => {
    const rank = makeRank(0, {
      step_s: 0.1,
      comm_overhead: 0.5,
      transfer_s: 0.05,
      wait_s: 0,
      compute_s: 0.008,
      optimizer_s: 0.0001
    });
    expect(texts(splitOf(rank)!)).toEqual([
      'forward, backward 8 %',
      'transfer 50 %',
      'waiting 0 %',
      'other 42 %'
    ]);
  });

  it('leaves out what is no whole percent, and has the same shares as a legend with times', () => {
    const split = {
      data: 0.0043,
      own: 0.0402,
      asleep: 0,
      transfer: 0.0467,
      waiting: 0.4672,
      optimizer: 0.0011,
      other: 0.4405
    };
    expect(texts(split)).toEqual([
      'forward, backward 4 %',
      'transfer 5 %',
      'waiting 47 %',
      'other 44 %'
    ]);
    expect(shareTexts(split).optimizer).toBe('0\u00a0%');
  });

  it('adds up to 100 %', () => {
    const split = { ...none, own: 0.345, transfer: 0.325, waiting: 0.33 };
    expect(texts(split).map(text => text.match(/\d+(?= %)/)?.[0])).toEqual([
      '35',
      '32',
      '33'
    ]);
  });
});
