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
      'Ranks 6–7 end. Ranks 0–1, 3–5 keep their variables.'
  );
  const three = { size: 2, lost: [0], replaced: [0], ending: [2] };
  expect(shrinkText(three, trans)).toBe(
    'Rank 0 gets a new process with the variables of rank 2. ' +
      'Rank 2 ends. Rank 1 keeps its variables.'
  );
  // nobody else is left
  const two = { size: 1, lost: [0], replaced: [0], ending: [1] };
  expect(shrinkText(two, trans)).toBe(
    'Rank 0 gets a new process with the variables of rank 1. Rank 1 ends.'
  );
});
