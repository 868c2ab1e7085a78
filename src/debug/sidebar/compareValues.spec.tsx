import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { BEGINNING } from '../model/variables';
import { differencesText } from './compareValues';

it('says of every variable what is known of it, and nothing of kinds that there are none of', () => {
  const trans = nullTranslator.load('x');
  const said = (found: object): string =>
    differencesText({ ...BEGINNING, left: 0, ...found }, trans);
  expect(differencesText(BEGINNING, trans)).toBe('Comparing variables…');
  expect(said({})).toBe('0 variables differ.');
  expect(said({ unknown: 12 })).toBe(
    '0 variables differ, 12 were not compared.'
  );
  expect(said({ same: 1, alike: 2, lacking: 3, beyond: 23 })).toBe(
    '0 variables differ, 1 is the same, 2 are the same on the ranks that were looked at, ' +
      '3 are not on all ranks, 23 more were not looked at.'
  );
});
