import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { foldLines } from '../lines/fold';
import { parseLines } from '../lines/lines';
import { Lines, MOST_LINES, rowsOf } from './rows';

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
