import { expect, it } from 'vitest';

import {
  changeRange,
  edgeTicks,
  fittingTicks,
  formatTick,
  labelSpace,
  niceTop,
  timeTicks,
  valueRange,
  valueTicks
} from './axis';

const NOON = Date.UTC(2026, 0, 5, 12, 0, 10) / 1000;

it('has round times, and ends with now', () => {
  const ticks = timeTicks(NOON - 300, NOON, 'now');
  expect(ticks[ticks.length - 1]).toEqual({ at: NOON, label: 'now' });
  const times = ticks.slice(0, -1);
  expect(times.length).toBeGreaterThanOrEqual(4);
  expect(times.every(t => t.at % 60 === 0)).toBe(true);
  expect(times[0].label).toMatch(/^\d\d:\d\d/);
  // 12:00:00 would touch the word
  expect(times[times.length - 1].at).toBe(NOON - 10 - 60);
});

it('writes seconds only where ticks are closer than a minute', () => {
  expect(timeTicks(NOON - 60, NOON, 'now')[0].label).toMatch(/:\d\d:\d\d/);
  expect(timeTicks(NOON - 3600, NOON, 'now')[0].label).not.toMatch(
    /:\d\d:\d\d/
  );
  expect(timeTicks(NOON - 3600, NOON, null).length).toBeLessThanOrEqual(7);
});

it.each([2, 8, 24, 90])('has no more ticks in %i h than have room', hours => {
  const ticks = timeTicks(NOON - hours * 3600, NOON, 'now', 3);
  expect(ticks.length).toBeGreaterThanOrEqual(2);
  expect(ticks.length).toBeLessThanOrEqual(4);
});

it.each([
  [10, 300],
  [14, 300],
  [25, 220],
  [40, 500],
  [3000, 200]
])('in %i s on %i px has a time beside now, and none touches it', (s, px) => {
  const time = 76;
  const room = Math.floor(px / time);
  const free = (s * time) / 2 / px;
  for (let to = NOON; to < NOON + 60; to += 1.7) {
    const ticks = timeTicks(to - s, to, 'now', room, free);
    const at = ticks.map(t => ((t.at - to) * px) / s);
    expect(ticks.length).toBeGreaterThanOrEqual(2);
    // "now" is centred at the end, too
    expect(at[at.length - 2]).toBeLessThanOrEqual(-(time / 2 + 12));
    at.slice(1, -1).forEach((x, i) => {
      expect(x - at[i]).toBeGreaterThanOrEqual(time);
    });
  }
});

it('tops its values with a round number', () => {
  expect(niceTop(9900)).toBe(10_000);
  expect(niceTop(10_100)).toBe(20_000);
  expect(niceTop(0.31)).toBe(0.4);
  expect(niceTop(0)).toBe(1);
  expect([0, 5000, 10_000, 1.25e6, 0.25].map(formatTick)).toEqual([
    '0',
    '5k',
    '10k',
    '1.25M',
    '0.25'
  ]);
});

it('has a middle as round as its top, and shows what is below 0', () => {
  for (const most of [0.23, 1286, 0.000298, 61.3, 7]) {
    const [from, to] = valueRange(0, most);
    const labels = valueTicks(from, to).map(formatTick);
    expect(labels.every(label => label.length <= 6)).toBe(true);
    expect(Number((to / 2).toPrecision(1))).toBeCloseTo(to / 2, 12);
  }
  expect(valueRange(-3.2, 1.5)).toEqual([-4, 2]);
  expect(valueTicks(-4, 2)).toEqual([-4, 0, 2]);
  expect(valueTicks(...valueRange(-3.2, -1))).toEqual([-4, -2, 0]);
});

it.each([
  [2.2, 2.33, 2.2, 2.4],
  [0.9105, 0.913, 0.91, 0.914],
  [2.3, 2.3, 0, 4],
  [0.2, 2.3, 0, 4],
  [-1, 3, -1, 4],
  [980, 1010, 980, 1020]
])('shows the change from %d to %d', (least, most, from, to) => {
  const [low, high] = changeRange(least, most);
  expect(low).toBeCloseTo(from, 9);
  expect(high).toBeCloseTo(to, 9);
});

it.each([1e-5, 0.0731, 2.3, 9.99, 88_000])('has three labels around %d', x => {
  for (const span of [1e-6, 1e-3, 0.02, 0.3]) {
    const [from, to] = changeRange(x, x * (1 + span));
    expect(from).toBeLessThanOrEqual(x);
    expect(to).toBeGreaterThanOrEqual(x * (1 + span));
    expect(new Set(valueTicks(from, to).map(formatTick)).size).toBe(3);
  }
});

it('leaves the beginning of the axis free, and has no more ticks where it is wide', () => {
  const ticks = timeTicks(NOON - 300, NOON, 'now', 20, 30);
  expect(ticks.length).toBeLessThanOrEqual(7);
  expect(ticks[0].at).toBeGreaterThanOrEqual(NOON - 270);
  // without a word at the end a time may stand there, but not so near that it is cut
  const ended = timeTicks(NOON - 11, NOON + 6, null, 3, 4);
  expect(timeTicks(NOON - 11, NOON + 6, null, 3).map(t => t.at)).toEqual([
    NOON - 10,
    NOON
  ]);
  expect(ended.map(t => t.at)).toEqual([NOON]);
  // no round time has room
  const short = timeTicks(NOON + 1, NOON + 9, null, 1, 3.8);
  expect(short.map(t => t.at)).toEqual([NOON + 5]);
  const later = timeTicks(NOON - 75, NOON + 6, null, 6, 8);
  expect(later[later.length - 1].at).toBe(NOON - 10);
});

it.each([130, 300, 700])('keeps labels apart on %d pixels', width => {
  const ticks = fittingTicks(NOON - 290, NOON + 10, 'now', width);
  const places = ticks.map(t => ((t.at - NOON + 290) / 300) * width);
  expect(places[places.length - 1]).toBe(width);
  places.slice(1).forEach((x, i) => expect(x - places[i]).toBeGreaterThan(52));
  expect(places[0]).toBeGreaterThanOrEqual(26);
});

it('has the times of its ends, or how much later the end is', () => {
  const [from, to] = edgeTicks(NOON, NOON + 3, null);
  expect([from.at, to.at]).toEqual([NOON, NOON + 3]);
  expect(from.label).not.toBe(to.label);
  // where both would touch each other
  expect(to.short).toBe('+3.0\u00a0s');
  expect(edgeTicks(NOON, NOON + 0.3, null)[1].label).toBe('+300\u00a0ms');
  expect(edgeTicks(NOON, NOON + 3, 'Done')[1].label).toBe('Done');
});

it('labels small values as their heading does, and has room for all labels', () => {
  expect([2e-6, 1e-6, 0.0005, 0.001].map(formatTick)).toEqual([
    '2e-6',
    '1e-6',
    '5e-4',
    '0.001'
  ]);
  const width = (label: string): number => 7.1 * label.length;
  expect(labelSpace(['0', '5k', '10k'], 46, 6, width)).toBe(46);
  expect(labelSpace(['2.04e-6', '-2.04e-6'], 46, 6, width)).toBe(63);
  expect(labelSpace([], 46, 6, width)).toBe(46);
});
