import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { foldLines } from '../lines/fold';
import { parseLines } from '../lines/lines';
import { MOST_LINES, rowsOf, shownOf } from './leftLines';
import { Area, Lines } from './rows';

it('shows what each rank printed last, also where another one went on for long', () => {
  let text = '';
  for (let i = 0; i < 2 * MOST_LINES; i++) {
    text += `[0] a ${i}\n`;
  }
  text += '[1] its last line\n';
  for (let i = 0; i < 2 * MOST_LINES; i++) {
    text += `[0] b ${i}\n`;
  }
  const shown = renderToStaticMarkup(
    <Lines
      lines={parseLines(text, false)}
      left={{ gone: 0, first: MOST_LINES / 2, show: null }}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  expect(shown).toContain('its last line');
  expect(shown).toContain(`b ${2 * MOST_LINES - 1}`);
  expect(shown).toContain('6,000 more lines.');
});

it('promises no number of lines that it does not know', () => {
  const shown = renderToStaticMarkup(
    <Lines
      lines={parseLines('[0-1] a\n', false)}
      left={{ gone: 10457, first: MOST_LINES / 2, show: null }}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  expect(shown).toContain('About 10,000 more lines.');
});

it('counts lines that the page does not have as the rows that they will be', () => {
  const text = Array.from({ length: 100 }, (_, i) =>
    [0, 1].map(rank => `[${rank}] rank ${rank} line ${i}\n`).join('')
  ).join('');
  const lines = parseLines(text, false);
  const folded = foldLines(lines);
  expect(folded).toHaveLength(100);
  const left = { gone: 9000, first: MOST_LINES / 2, show: null };
  expect(rowsOf(left, folded, lines).gone).toBe(4500);
  expect(rowsOf(left, [], []).gone).toBe(9000);
});

it('offers the lines of a rank that the page has none of', () => {
  const shown = renderToStaticMarkup(
    <Lines
      lines={[]}
      left={{
        gone: 9000,
        first: MOST_LINES / 2,
        uncounted: true,
        show: () => undefined
      }}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  expect(shown).toContain('More lines are not shown.');
  expect(shown).toContain('Show');
});

it('draws each line once, at all borders, and omits lines where the page lacks some', () => {
  const half = MOST_LINES / 2;
  const borders = [0, 1, half, 2 * half, 3 * half, 4 * half];
  const counts = borders.flatMap(n => [n - 1, n, n + 1]).filter(n => n >= 0);
  for (const count of counts) {
    for (const first of [half, 3 * half]) {
      for (const gap of [null, 0, 1, 7, count - 1, count]) {
        const lines = Array.from({ length: count }, (_, i) => ({
          ranks: [0],
          text: `${i}`,
          error: false,
          gap: gap !== null && i >= gap ? 1 : 0
        }));
        const gone = gap === null ? 0 : 9;
        const shown = shownOf(lines, { gone, first });
        const drawn = [...shown.first, ...shown.last].map(l => Number(l.text));
        const [begin, end] = [shown.first.length, shown.last.length];
        expect(drawn.slice(0, begin)).toEqual(
          drawn.slice(0, begin).map((_, i) => i)
        );
        expect(drawn.slice(begin)).toEqual(
          drawn.slice(begin).map((_, i) => count - end + i)
        );
        expect(begin + end).toBeLessThanOrEqual(count);
        if (gap !== null && count <= first + half) {
          // all that the page has, with the omission at its place
          expect([begin, end]).toEqual([
            Math.min(Math.max(gap, 0), count),
            count - Math.min(Math.max(gap, 0), count)
          ]);
        }
      }
    }
  }
});

it('draws what was printed behind a bar below it, also while the bar is overwritten', () => {
  const bar = ' 40%|####      | 4/10 [00:01<00:02, 3.20it/s]';
  const area = document.createElement('div');
  area.innerHTML = renderToStaticMarkup(
    <Area rows={[{ ranks: [0], text: `${bar}loss 0.5` }]} rank={null} />
  );
  const [first, second, ...more] = [...area.querySelectorAll('li')];
  expect(first.querySelector('progress')?.getAttribute('value')).toBe('0.4');
  expect(first.textContent).not.toContain('loss');
  expect(second.textContent).toBe('0loss 0.5');
  expect(more).toEqual([]);
});
