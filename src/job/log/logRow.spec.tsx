import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { rowsOf } from './lines';
import { LogRow } from './logRow';

const trans = nullTranslator.load('dtrain_lab');

it("has a terminal's colours, and none of their codes, also where a text is found", () => {
  const text = '\u001b[32mstep\u001b[0m 5 loss \u001b[1m0.5\u001b[0m';
  const [row] = rowsOf([{ time: 0, rank: 0, text, error: false }], true);
  const drawn = (found: string): string =>
    renderToStaticMarkup(
      <LogRow
        row={row}
        found={found}
        cause={null}
        trans={trans}
        unfold={() => undefined}
        openCell={() => undefined}
      />
    );
  expect(drawn('')).toContain('<span class="ansi-green-fg">step</span>');
  expect(drawn('')).not.toContain('[32m');
  expect(drawn('step 5')).toContain('<mark>step 5</mark> loss 0.5');
});

it('marks a row as a whole where only a line that is folded into it has the text', () => {
  const lines = [0, 1].map(rank => ({
    time: 0,
    rank,
    text: `seed of rank ${rank}`,
    error: false
  }));
  const [row, ...none] = rowsOf(lines, true);
  expect(none).toEqual([]);
  const drawn = (found: string): string =>
    renderToStaticMarkup(
      <LogRow
        row={row}
        found={found}
        cause={null}
        trans={trans}
        unfold={() => undefined}
        openCell={() => undefined}
      />
    );
  const marked = /<mark[^>]*>(.*)<\/mark>/;
  const bare = (text = ''): string => text.replace(/<[^>]*>/g, '');
  expect(bare(marked.exec(drawn('rank 1'))?.[1])).toBe('seed of rank 0…1');
  expect(bare(marked.exec(drawn('seed'))?.[1])).toBe('seed');
  expect(drawn('rank 2')).not.toContain('<mark');
});
