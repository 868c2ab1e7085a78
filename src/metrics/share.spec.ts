import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import {
  errorOfParts,
  lastShare,
  shareWithoutError,
  shareInText
} from './share';

const trans = nullTranslator.load('dtrain_lab');

it('says a share as well as it is known', () => {
  expect(shareWithoutError(0.44, null)).toBe('44\u00a0%');
  expect(shareWithoutError(0.44, 0.06)).toBe('44\u00a0%');
  expect(shareWithoutError(0.44, 0.2)).toBe('44\u00a0%');
  expect(shareWithoutError(0.58, 0.4)).toBe('');
  expect(shareWithoutError(0.1, 0.2)).toBe('≤\u00a030\u00a0%');
  expect(shareWithoutError(0.9, 0.2)).toBe('≥\u00a070\u00a0%');
  expect(shareWithoutError(null, null)).toBe('–');
});

it('says it in running text with its error', () => {
  expect(shareInText(0.44, 0.06, trans)).toBe('44\u00a0% ± 6');
  // the format doesn't depend on the size of the error
  expect(shareInText(0.44, 0.2, trans)).toBe('44\u00a0% ± 20');
  expect(shareInText(0.1, 0.2, trans)).toBe('at most 30\u00a0%');
  expect(shareInText(0.44, 0.001, trans)).toBe('44\u00a0% ± 1');
  expect(shareInText(0.58, 0.4, trans)).toBe('too unsteady to tell');
  expect(shareInText(0, 0, trans)).toBe('0\u00a0%');
  expect(shareInText(0.9, 0.2, trans)).toBe('at least 70\u00a0%');
  expect(shareInText(0.2, 0.2, trans)).toBe('20\u00a0% ± 20');
});

it('says the error of parts where the sum is said as a bound only', () => {
  expect(errorOfParts(0.72, 0.29, trans)).toBe('each ± 29');
  expect(errorOfParts(0.44, 0.2, trans)).toBe('');
  expect(errorOfParts(0.72, null, trans)).toBe('');
  expect(errorOfParts(0.72, 0.4, trans)).toBe('');
});

it('says the bound of a share that was measured as 0, and no communication only where there is no error', () => {
  const last = (error: number | null, measured: boolean): string | null =>
    lastShare(
      {
        current: false,
        samples: 5,
        step: 1,
        overhead: 0,
        error,
        atLeast: false
      },
      measured,
      trans
    );
  expect(last(0.13, true)).toBe('Measured: at most 13\u00a0% of the step');
  expect(last(0.13, false)).toBe('Last: at most 13\u00a0%');
  expect(last(0.4, true)).toBe('Last: too unsteady to tell');
  expect(last(null, false)).toBe('Last: no communication');
  expect(last(0, false)).toBe('Last: no communication');
});
