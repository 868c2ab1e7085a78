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
