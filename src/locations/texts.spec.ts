import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { cellName } from './texts';

it('calls a cell what is one, and nothing else', () => {
  const trans = nullTranslator.load('dtrain_lab');
  expect(cellName('[7]', trans)).toBe('cell\u00a0[7]');
  expect(cellName('%debug', trans, 'post_mortem')).toBe('debugging');
  expect(cellName('[7]', trans, 'post_mortem')).toBe(
    'cell\u00a0[7], after its failure'
  );
  expect(cellName('diagnose', trans, 'diagnosis')).toBe('diagnosis');
  expect(cellName('try', trans, 'advice_trial')).toBe('trial of a change');
});
