import { expect, it } from 'vitest';

import { LogLine } from '../tokens';
import { followsFrom, placeOf, rowsOf } from './lines';

const line = (rank: number, text: string, time = 0): LogLine => ({
  time,
  rank,
  text,
  error: false
});

it('shows an equal line of several ranks once', () => {
  const rows = rowsOf([line(0, 'hi'), line(2, 'hi'), line(1, 'hi')], false);
  expect(rows.map(r => [r.ranks, r.text])).toEqual([['0–2', 'hi']]);
});

it('keeps lines of one rank, and those that come much later', () => {
  expect(rowsOf([line(0, 'hi'), line(0, 'hi')], false)).toHaveLength(2);
  expect(rowsOf([line(0, 'hi'), line(1, 'hi', 9)], false)).toHaveLength(2);
});

it('folds lines that differ only in numbers when asked, with the last one shown', () => {
  const lines = [line(0, 'step 1 loss 0.5'), line(0, 'step 2 loss 0.25')];
  expect(rowsOf(lines, false)).toHaveLength(2);
  const folded = rowsOf(lines, true);
  expect(folded.map(r => [r.text, r.like])).toEqual([['step 2 loss 0.25', 1]]);
});

it('finds the cell of a traceback and what only follows from another rank', () => {
  expect(placeOf('  File "train.ipynb[4]", line 18, in <module>')).toEqual({
    notebook: 'train.ipynb',
    cell: '[4]',
    line: 18
  });
  expect(placeOf('  File "model.py", line 3')).toBeNull();
  expect(followsFrom('RuntimeError: Connection closed by peer [::1]:3')).toBe(
    true
  );
});

it('folds the frames of libraries in a traceback', () => {
  const error = (text: string): LogLine => ({ ...line(1, text), error: true });
  const rows = rowsOf(
    [
      error('Traceback (most recent call last):'),
      error('  File "a.ipynb[1]", line 2, in <module>'),
      error('    loss.backward()'),
      error('  File "/x/site-packages/torch/_tensor.py", line 6, in backward'),
      error('    torch.autograd.backward('),
      error('  File "/x/site-packages/torch/graph.py", line 9, in run'),
      error('RuntimeError: no')
    ],
    true
  );
  expect(rows.map(r => r.frames || r.text)).toEqual([
    'Traceback (most recent call last):',
    '  File "a.ipynb[1]", line 2, in <module>',
    '    loss.backward()',
    2,
    'RuntimeError: no'
  ]);
});
