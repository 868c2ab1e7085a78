import { expect, it } from 'vitest';

import {
  formatTick,
  niceTop,
  placeNames,
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

it('leaves the beginning of the axis free, and has no more ticks where it is wide', () => {
  const ticks = timeTicks(NOON - 300, NOON, 'now', 20, 30);
  expect(ticks.length).toBeLessThanOrEqual(7);
  expect(ticks[0].at).toBeGreaterThanOrEqual(NOON - 270);
  // without a word at the end a time may stand there, but not so near that it is cut
  const ended = timeTicks(NOON - 11, NOON + 6, null, 3, 4);
  expect(timeTicks(NOON - 11, NOON + 6, null, 3).map(t => t.at)).toEqual([
    NOON - 10,
    NOON + 5
  ]);
  expect(ended.map(t => t.at)).toEqual([Math.round(NOON - 2.5)]);
  const later = timeTicks(NOON - 75, NOON + 6, null, 6, 8);
  expect(later[later.length - 1].at).toBe(NOON - 10);
});

it('never puts a name on another', () => {
  const names = [
    { x: 100, width: 80 },
    { x: 110, width: 80 },
    { x: 120, width: 80 },
    { x: 390, width: 80 }
  ];
  const placed = placeNames(names, 40, 400, 2);
  expect(placed).toEqual([
    { from: 105, row: 0 },
    { from: 115, row: 1 },
    null,
    { from: 305, row: 0 }
  ]);
});
