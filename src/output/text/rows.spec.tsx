import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { foldLines } from '../folding/fold';
import { parseLines } from '../lines/lines';
import { countLines, countsText, NOTHING, readNotice } from '../lines/omitted';
import { around, betweenMarks, markText, withoutMiddle } from '../lines/trim';
import { linesLeft, MOST_LINES, rowsOf, shownOf } from './leftLines';
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
  const drawn = (gone: number): string =>
    renderToStaticMarkup(
      <Lines
        lines={parseLines('[0-1] a\n', false)}
        left={{ gone, atLeast: true, first: MOST_LINES / 2, show: null }}
        trans={nullTranslator.load('dtrain_lab')}
      />
    );
  expect(drawn(10457)).toContain('At least 10,457 more lines.');
  expect(drawn(0)).toContain('More lines are not shown.');
});

it('says why lines that are not drawn are not available any more', () => {
  const drawn = (show: (() => void) | null): string =>
    renderToStaticMarkup(
      <Lines
        lines={parseLines('[0-1] a\n', false)}
        left={{ gone: 7, first: MOST_LINES / 2, show, why: 'It has ended.' }}
        trans={nullTranslator.load('dtrain_lab')}
      />
    );
  expect(drawn(null)).toContain('7 more lines. It has ended.');
  expect(drawn(() => undefined)).not.toContain('It has ended.');
});

const alike = (from: number, to: number, one = 'step', other = one): string =>
  Array.from(
    { length: to - from },
    (_, i) => `[0] ${one} ${from + i}\n[1] ${other} ${from + i}\n`
  ).join('');

it('says how many rows are not shown, as all lines would be', () => {
  for (const text of [
    alike(0, 5_000),
    alike(0, 5_000, 'rank 0 line', 'rank 1 line'),
    // rank 1 prints each block after rank 0
    Array.from({ length: 10 }, (_, i) => alike(500 * i, 500 * (i + 1)))
      .map(block =>
        block
          .split('\n')
          .sort((a, b) => a.slice(0, 3).localeCompare(b.slice(0, 3)))
          .slice(1)
          .map(row => `${row}\n`)
          .join('')
      )
      .join(''),
    // the kernel has merged most lines
    alike(0, 2_500) +
      Array.from({ length: 2_500 }, (_, i) => `[0-1] at ${i}\n`).join('')
  ]) {
    const [{ text: first, left: none }, { text: last, left: gone }] =
      betweenMarks(withoutMiddle(text, 20_000));
    expect(none).toEqual(NOTHING);
    const lines = [
      ...parseLines(first, false),
      ...parseLines(last, false).map(line => ({ ...line, gap: 1 }))
    ];
    const showing = { first: MOST_LINES / 2, show: null };
    const rows = foldLines(lines);
    const left = rowsOf({ gone, ...showing }, rows, lines, 2);
    const all = foldLines(parseLines(text, false)).length;
    expect(all).toBe(5_000);
    expect(rows.length + left.gone).toBe(all);
    expect(linesLeft({ gone, ...showing }, 1)).toEqual({
      ...showing,
      atLeast: false,
      gone: 5_000 - lines.filter(line => line.ranks.includes(1)).length
    });
  }
});

it('says at least how many rows are not shown where ranks print different lines, or no notice counts them', () => {
  const showing = { first: MOST_LINES / 2, show: null };
  const lines = parseLines(alike(0, 100, 'step', 'other'), false);
  const rows = foldLines(lines);
  expect(rows).toHaveLength(200);
  const counted = countLines(alike(0, 4500, 'step', 'other'));
  expect(rowsOf({ gone: counted, ...showing }, rows, lines, 2)).toEqual({
    ...showing,
    gone: 4600 - 200,
    atLeast: true,
    atMost: 9000
  });
  // what is left after "Show" is one of the numbers that were said before
  const drawn = renderToStaticMarkup(
    <Lines
      lines={rows}
      left={rowsOf({ gone: counted, ...showing }, rows, lines, 2)}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  expect(drawn).toContain('4,400 to 9,000 more lines.');
  expect(drawn).toContain('Equal lines of several ranks are shown as one.');
  const gone = readNotice(9000, '.');
  expect(rowsOf({ gone, ...showing }, [], [], 2)).toMatchObject({
    gone: 4500,
    atLeast: true
  });
  // all that one rank has printed is counted
  expect(rowsOf({ gone, ...showing }, [], [], 1)).toMatchObject({
    gone: 9000,
    atLeast: false
  });
  expect(linesLeft({ gone, ...showing }, 1)).toMatchObject({
    gone: 0,
    atLeast: true
  });
});

it('reads of a notice what it was made of', () => {
  const text = '[0] a\n[1] b\n[0-1] c\n[3] d\nnobody\n';
  const gone = countLines(text);
  expect(countsText(gone)).toBe(
    '2 each of ranks 0-1, 1 of rank 3, 1 unlabelled'
  );
  expect(around(`a\n${markText(gone)}b\n`)).toEqual(['a\nb\n', gone]);
});

it('offers the lines of a rank that the page has none of', () => {
  const shown = renderToStaticMarkup(
    <Lines
      lines={[]}
      left={{
        gone: 0,
        first: MOST_LINES / 2,
        atLeast: true,
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

it('shows the remaining time, the rate and the values of a bar, while it is drawn and afterwards', () => {
  const bar = (rank: number): string =>
    ` 63%|######3   | 38/60 [00:03<00:02, 9.8${rank}it/s, loss=0.02${rank}]`;
  const rows = [0, 1].map(rank => ({ ranks: [rank], text: bar(rank) }));
  const beside = '63 %, 38/6000:03<00:02, 9.80it/s, loss=0.020';
  const drawn = (rank: number | null): string =>
    words(<Area rows={rows} rank={rank} />);
  expect(drawn(null)).toBe(`0–1${beside}…0.021`);
  expect(drawn(0)).toBe(`0${beside}`);
  const after = (text: string): string =>
    words(
      <Lines
        lines={foldLines(parseLines(text, true))}
        left={{ gone: 0, first: MOST_LINES / 2, show: null }}
        trans={nullTranslator.load('dtrain_lab')}
      />
    );
  expect(after(`[0-1] ${bar(0)}\n`)).toBe(`0–1${beside}`);
  // one number differs, so that the ranks' lines are folded
  expect(
    after(`[0] ${bar(0)}\n[1] ${bar(0).replace('0.020', '0.021')}\n`)
  ).toBe(`0–1${beside}…0.021`);
});

function words(element: JSX.Element): string {
  const area = document.createElement('div');
  area.innerHTML = renderToStaticMarkup(element);
  return area.textContent.replace(/\u00a0/g, ' ');
}
