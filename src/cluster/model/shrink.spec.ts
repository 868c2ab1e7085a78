import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { shrinkText } from './shrink';

const trans = nullTranslator.load('dtrain_lab');

it('says who is left out, and who stands in for whom', () => {
  const last = { size: 1, lost: [1], replaced: [], ending: [] };
  expect(shrinkText(last, trans)).toBe(
    'Rank 1 is left out. Rank 0 keeps its variables.'
  );
  const node = { size: 6, lost: [2], replaced: [2], ending: [6, 7] };
  expect(shrinkText(node, trans)).toBe(
    'Rank 2 gets a new process with the variables of rank 6. ' +
      'Ranks 6–7 end. The others keep their variables.'
  );
});
