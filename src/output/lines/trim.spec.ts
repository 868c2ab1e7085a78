import { CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { expect, it } from 'vitest';

import { readOutputs } from '../runs/cellOutput';
import { foldLines } from '../folding/fold';
import { NOTHING, readNotice } from './omitted';
import {
  around,
  LAST_OF_RANK,
  MOST_KEPT,
  MOST_LINE,
  shortLines,
  trimmed,
  withoutMiddle
} from './trim';

const line = (n: number): string => `[0-3] step ${n} loss 0.1\n`;

it('keeps both ends of a long output, and says how many lines went', () => {
  let text = '';
  let printed = 0;
  // as in a running cell: the text is trimmed repeatedly while lines are added
  for (; printed < 100_000; printed++) {
    text += line(printed);
    text = trimmed(text) ?? text;
  }
  expect(text.length).toBeLessThanOrEqual(MOST_KEPT);
  const [shown, left] = around(text);
  const rows = shown.split('\n').slice(0, -1);
  expect(rows.length + left.lines).toBe(printed);
  expect(rows[0]).toBe('[0-3] step 0 loss 0.1');
  expect(rows[rows.length - 1]).toBe(line(printed - 1).trim());
  expect(text).toContain(
    `… ${left.lines} lines are left out of the middle: ${left.lines} each of ranks 0-3.`
  );
  expect([...left.ofRank.values()]).toEqual(Array(4).fill(left.lines));
});

it('knows what notebooks of before have left out', () => {
  expect(readNotice(4, '1 of each of ranks 0-1, 1 of no rank')).toEqual(
    readNotice(4, '1 each of ranks 0-1, 1 unlabelled')
  );
  const mark = '… 12 lines are left out here. All of it: %distributed output\n';
  expect(around(`a\n${mark}b\n`)).toEqual([
    'a\nb\n',
    { lines: 12, ofRank: new Map(), unknown: 12 }
  ]);
});

it('counts what the kernel has left out, wherever that was', () => {
  let text = '';
  let printed = 0;
  for (let i = 0; i < 20_000; i++) {
    text += line(printed++);
    if (i % 1000 === 500) {
      printed += 300;
      text +=
        '… 300 lines are left out here: they came faster than the Jupyter server passes on.\n';
    }
    text = trimmed(text) ?? text;
  }
  expect(text.length).toBeLessThanOrEqual(MOST_KEPT);
  const [shown, left] = around(text);
  const rows = shown.split('\n').slice(0, -1);
  expect(rows.length + left.lines).toBe(printed);
  expect(rows.every(row => row.startsWith('[0-3] step'))).toBe(true);
});

it('leaves a short output alone', () => {
  expect(trimmed(line(1))).toBeNull();
  expect(around(line(1))).toEqual([line(1), NOTHING]);
});

const LEFT = / … (\d+) characters of this line are left out … /;

it('keeps both ends of a line that is longer than all that is kept', () => {
  const rows = [0, 1].map(rank => `[${rank}] a${'y'.repeat(250_000)}z`);
  const text = trimmed(`${rows.join('\n')}\n`) ?? '';
  const shown = text.split('\n').slice(0, -1);
  expect(shown.map(row => row.slice(0, 5))).toEqual(['[0] a', '[1] a']);
  shown.forEach((row, i) => {
    expect(row.endsWith('yz')).toBe(true);
    expect(row.length).toBeLessThan(MOST_LINE);
    expect(row.replace(LEFT, '').length + Number(LEFT.exec(row)![1])).toBe(
      rows[i].length
    );
  });
  expect(around(text)[1]).toEqual(NOTHING);
});

it('counts on where a line that was cut grows', () => {
  let row = '[0] ';
  let printed = 0;
  for (; printed < 30; printed++) {
    row = shortLines(row + '𝄞'.repeat(3001));
  }
  expect(row.replace(LEFT, '').length + Number(LEFT.exec(row)![1])).toBe(
    4 + 2 * 3001 * printed
  );
  expect(row.replace(LEFT, '')).toBe(
    `[0] ${'𝄞'.repeat((row.replace(LEFT, '').length - 4) / 2)}`
  );
});

it('shows a long line, and says so where a notebook has only kept that lines are left out', () => {
  const model = new CodeCellModel({});
  const read = (text: string): ReturnType<typeof readOutputs> => {
    model.outputs.fromJSON([{ output_type: 'stream', name: 'stdout', text }]);
    return readOutputs({ model } as unknown as CodeCell);
  };
  const { lines, left } = read(`[0-1] ${'y'.repeat(200_000)}\n[0-1] done\n`);
  expect(lines.map(line => line.ranks)).toEqual([
    [0, 1],
    [0, 1]
  ]);
  expect(lines[0].text).toMatch(LEFT);
  expect(lines[1].text).toBe('done');
  expect(left).toEqual(NOTHING);
  expect(read('… 2 lines are left out of the middle.\n').left.lines).toBe(2);
});

it('keeps the end of a rank after which others have printed much', () => {
  let text = '';
  const rows = 20_000;
  for (let i = 0; i < 3 * rows; i++) {
    const rank = i < rows && i % 2 ? 1 : 0;
    text += `[${rank}] line ${i}\n`;
    text = trimmed(text) ?? text;
  }
  const model = new CodeCellModel({});
  model.outputs.fromJSON([{ output_type: 'stream', name: 'stdout', text }]);
  const { lines, left } = readOutputs({ model } as unknown as CodeCell);
  const own = lines.filter(l => l.ranks[0] === 1).map(l => l.text);
  expect(own.slice(-2)).toEqual([`line ${rows - 3}`, `line ${rows - 1}`]);
  expect(own.length).toBeGreaterThanOrEqual(LAST_OF_RANK);
  expect(lines.length + left.lines).toBe(3 * rows);
});

it('shows the last lines of all ranks alike, in whatever blocks they came', () => {
  const model = new CodeCellModel({});
  const rows = (rank: number, from: number, to: number): string =>
    Array.from(
      { length: to - from },
      (_, i) => `[${rank}] line ${from + i} of rank ${rank}\n`
    ).join('');
  let text = '';
  for (let from = 0; from < 20_000; from += 2000) {
    // rank 1's block came before all that is kept of rank 0's
    text += rows(1, from, from + 2000);
    text = trimmed(text) ?? text;
    text += rows(0, from, from + 2000);
    text = trimmed(text) ?? text;
  }
  model.outputs.fromJSON([{ output_type: 'stream', name: 'stdout', text }]);
  const { lines, left } = readOutputs({ model } as unknown as CodeCell);
  expect(lines.length + left.lines).toBe(40_000);
  const before = foldLines(lines.filter(line => !line.gap));
  expect(before.length).toBeGreaterThan(1000);
  expect(before.filter(line => line.ranks.length !== 2)).toEqual([]);
  expect(before[0].text).toBe('line 0 of rank 0');
  const behind = foldLines(lines).filter(line => line.gap);
  expect(behind.length).toBeGreaterThan(1000);
  expect(behind.filter(line => line.ranks.length !== 2)).toEqual([]);
  expect(behind[behind.length - 1].text).toBe('line 19999 of rank 0');
});

it('shortens also what many ranks print in lines that are all of different kinds', () => {
  const word = (n: number): string =>
    [...String(n)].map(digit => 'abcdefghij'[Number(digit)]).join('');
  let text = '';
  let printed = 0;
  for (let rank = 0; rank < 16; rank++) {
    for (let i = 0; i < 3000; i++, printed++) {
      text += `[${rank}] the word of this line is ${word(i)}\n`;
    }
    text = trimmed(text) ?? text;
    expect(text.length).toBeLessThanOrEqual(MOST_KEPT);
  }
  const [shown, left] = around(text);
  expect(shown.split('\n').length - 1 + left.lines).toBe(printed);
});

it.each([2, 3])(
  'folds lines of one step behind the omission, wherever its border is, of %s ranks',
  ranks => {
    const model = new CodeCellModel({});
    for (let shift = 0; shift < 20; shift++) {
      let text = `${'-'.repeat(shift)}\n`;
      for (let step = 100; step < 300; step++) {
        for (let rank = 0; rank < ranks; rank++) {
          text += `[${rank}] loss 1.0${step}${rank}\n`;
        }
        // as in a running cell: the text is trimmed repeatedly
        text = text.length > 3000 ? withoutMiddle(text, 1000) : text;
      }
      model.outputs.fromJSON([{ output_type: 'stream', name: 'stdout', text }]);
      const { lines } = readOutputs({ model } as unknown as CodeCell);
      const behind = foldLines(lines).filter(line => line.gap);
      expect(behind.length).toBeGreaterThan(10);
      for (const { range, ranks: own } of behind) {
        expect(own).toHaveLength(ranks);
        expect(range?.low.slice(0, -1)).toBe(range?.high.slice(0, -1));
      }
    }
  }
);
