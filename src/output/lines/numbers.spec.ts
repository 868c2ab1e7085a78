import { expect, it } from 'vitest';

import { numbersOf } from './numbers';

it('finds numbers with their units and keys, and no others', () => {
  const of = (text: string): string[] => numbersOf(text).map(n => n.text);
  expect(of('took 3.2s, loss=2.1 (12%) 1,024 samples/s -1e-3.')).toEqual([
    '3.2',
    '2.1',
    '12',
    '1,024',
    '-1e-3'
  ]);
  expect(of('a1 v2 x-3')).toEqual([]);
});
