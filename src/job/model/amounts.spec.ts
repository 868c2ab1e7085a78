import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { budgetWords, formatHours } from './amounts';

const trans = nullTranslator.load('');

it('counts hours as people write them', () => {
  expect(formatHours(768)).toBe('768');
  expect(formatHours(4300)).toBe('4,300');
  expect(formatHours(0.54)).toBe('0.5');
  const budget = { unit: 'GPU', left_hours: 4300, asked_hours: 768 };
  expect(budgetWords(budget as Parameters<typeof budgetWords>[0], trans)).toBe(
    'At most 768 of the 4,300 GPU-hours left'
  );
});
