import { expect, it } from 'vitest';

import { IPlaced, placeNames, pointing } from './markNames';

const PLOT = { left: 40, top: 0, width: 400, height: 100 };
const ROW = 14;

it('never puts a name on another', () => {
  const names = [
    { x: 100, width: 80 },
    { x: 210, width: 80 },
    { x: 390, width: 80 }
  ];
  const [first, second, last] = placeNames(names, PLOT, ROW, []);
  expect([first!.from, second!.from]).toEqual([105, 215]);
  // no room to the right: beside its own line, and beside the second's name
  expect(last!.from).toBe(305);
  expect(first!.y).toBe(second!.y);
  const near = placeNames([names[1], { x: 385, width: 80 }], PLOT, ROW, []);
  expect(near[1]!.from).toBe(300);
  const touching = placeNames([names[1], { x: 375, width: 80 }], PLOT, ROW, []);
  expect(near[0]!.y - touching[1]!.y).toBeGreaterThanOrEqual(ROW);
});

it('says of a name between two lines which of them it is of', () => {
  const names = [
    { x: 200, width: 90 },
    { x: 420, width: 90 }
  ];
  const placed = placeNames(names, PLOT, ROW, []);
  expect(placed.map(place => place!.side)).toEqual(['right', 'left']);
  const told = placed.map(place => pointing('rank 1 slows down', place!.side));
  expect(told).toEqual(['◂ rank 1 slows down', 'rank 1 slows down ▸']);
});

it('has no name on the line of another mark: that would be its name', () => {
  const names = [
    { x: 330, width: 40 },
    { x: 420, width: 110 }
  ];
  const [rebuilt, slow] = placeNames(names, PLOT, ROW, []);
  expect(rebuilt!.from).toBe(335);
  // left of both lines, with a line that leads to its own
  expect(slow!.from + 110).toBeLessThan(330);
  expect(slow!.leader).toBe(slow!.from + 110);
  expect(rebuilt!.y - slow!.y).toBeGreaterThanOrEqual(ROW);
});

it('has no name on a curve or an area', () => {
  const name = [{ x: 100, width: 80 }];
  const curve = Array.from({ length: 100 }, (_, i) => ({
    x: 40 + 4 * i,
    top: 85,
    bottom: 85
  }));
  const [above] = placeNames(name, PLOT, ROW, curve);
  expect(above!.y + ROW / 2).toBeLessThan(85);
  const area = curve.map(c => ({ ...c, top: 40, bottom: 100 }));
  expect(placeNames(name, PLOT, ROW, area)[0]!.y + ROW / 2).toBeLessThan(40);
  // where all is covered, on the area: its name has a background
  const full = curve.map(c => ({ ...c, top: 0, bottom: 100 }));
  expect(placeNames(name, PLOT, ROW, full)[0]).toMatchObject({ from: 105 });
});

/** Whether two names, with the lines that lead to them, touch. */
function touch(
  names: readonly { x: number; width: number }[],
  placed: readonly (IPlaced | null)[]
): boolean {
  const areas = placed.map((place, i) => {
    const { from, y, leader } = place!;
    const { x, width } = names[i];
    return leader === null
      ? { from, to: from + width, y }
      : { from: Math.min(from, x), to: Math.max(from + width, x), y };
  });
  return areas.some((a, i) =>
    areas
      .slice(i + 1)
      .some(b => a.from < b.to && b.from < a.to && Math.abs(a.y - b.y) < ROW)
  );
}

it.each([
  ['at the left end', [42, 46, 52]],
  ['in the middle', [200, 203, 230, 236]],
  ['at the right end', [415, 425, 435, 439]]
])('names every mark of some that are close to each other %s', (_, at) => {
  const names = at.map(x => ({ x, width: 118 }));
  const placed = placeNames(names, PLOT, ROW, []);
  expect(placed).not.toContain(null);
  expect(touch(names, placed)).toBe(false);
  placed.forEach((place, i) => {
    expect(place!.from).toBeGreaterThanOrEqual(PLOT.left);
    expect(place!.from + 118).toBeLessThanOrEqual(PLOT.left + PLOT.width);
    // beside its line, or led to
    const { from, leader, side } = place!;
    const end = side === 'right' ? from : from + 118;
    expect(leader ?? end).toBe(end);
    expect(Math.abs(end - names[i].x) <= 5 || leader !== null).toBe(true);
  });
});
