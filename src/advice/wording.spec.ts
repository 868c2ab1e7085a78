import { nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import { readFileSync } from 'fs';
import { join } from 'path';
import { expect, it } from 'vitest';

import { Advice } from '../tokens';
import { words } from './texts';
import { adviceTitle, gainNote } from './tried';

/** Written by `tests/unit/metrics/test_advice_wording.py` from what the terminal says. */
const EXAMPLES = JSON.parse(
  readFileSync(join('tests', 'unit', 'golden', 'advice_wording.json'), 'utf-8')
) as { advice: Advice; title: string; note: string; cost: string }[];

/** What the page says of advice whose English text it does not use. */
function said(
  advice: Advice,
  trans: TranslationBundle
): { title: string; note: string; cost: string } {
  const { change, cost } = words(
    { ...advice, change: 'unused', cost: 'unused' },
    trans
  );
  const plain = (text: string): string => text.replace(/\u00a0/g, ' ');
  return {
    title: plain(adviceTitle(change, advice, trans)),
    note: plain(gainNote(advice, trans)),
    cost: plain(cost)
  };
}

it('words advice as the terminal does', () => {
  const trans = nullTranslator.load('x');
  for (const { advice, ...terminal } of EXAMPLES) {
    expect(said(advice, trans)).toEqual(terminal);
  }
});

it('translates all of it', () => {
  const other = {
    __: (_text: string, ...args: unknown[]) => `«${args.join(' ')}»`,
    _n: (_one: string, _many: string, n: number, ...args: unknown[]) =>
      `«${[n, ...args].join(' ')}»`
  } as unknown as TranslationBundle;
  for (const { advice } of EXAMPLES) {
    for (const text of Object.values(said(advice, other))) {
      expect(text).toMatch(/^(«.*»)?$/);
    }
  }
});
