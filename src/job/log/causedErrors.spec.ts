import { expect, it } from 'vitest';

import { LogLine } from '../../tokens';
import { causeOf, ICause, shortError } from './causedErrors';
import { rowsOf } from './lines';

const HEAD = 'Traceback (most recent call last):';
const CLOSED =
  'RuntimeError: [/x/gloo/pair.cc:537] Read error [127.0.0.1]:34204: Connection reset by peer. Check the logs.';
const CAUSE: ICause = { rank: 1, time: 10, killed: false };

function written(rank: number, time: number, ...texts: string[]): LogLine[] {
  return texts.map(text => ({ time, rank, text, error: true }));
}

const place = '  File "job.ipynb[4]", line 10, in <module>';
const bad = written(1, 10, HEAD, place, 'ValueError: bad batch');
const closed = (rank: number, time: number): LogLine[] => {
  const error = CLOSED.replace('34204', `${34204 + rank}`);
  return written(rank, time, HEAD, place, '    loss.backward()', error);
};

it('folds what only follows into one neutral row, below the cause', () => {
  for (const lines of [
    [...bad, ...closed(0, 10.1), ...closed(2, 10.2)],
    [...closed(0, 9.9), ...bad, ...closed(2, 10.2)]
  ]) {
    const rows = rowsOf(lines, true, new Set(), 0, CAUSE);
    expect(rows.map(r => [r.ranks, r.text, r.failed, r.folded])).toEqual([
      ['1', HEAD, true, 0],
      ['1', place, true, 0],
      ['1', 'ValueError: bad batch', true, 0],
      ['0, 2', CLOSED, false, 7]
    ]);
    expect(rows[3].follows).toBe(true);
    const whole = rowsOf(lines, true, new Set([rows[3].key]), 0, CAUSE);
    expect(whole.map(r => r.text)).toEqual([
      ...bad.map(l => l.text),
      ...closed(0, 0).map(l => l.text),
      ...closed(2, 0).map(l => l.text)
    ]);
    expect(whole.slice(3).every(r => r.follows && !r.failed)).toBe(true);
    const plain = rowsOf(lines, false, new Set(), 0, CAUSE);
    expect(plain.filter(r => r.failed).map(r => r.ranks)).toEqual([
      '1',
      '1',
      '1'
    ]);
  }
});

it('takes an error for one of its own where no cause is known, or long before it', () => {
  const alone = rowsOf(closed(0, 10), true);
  expect(alone.every(r => r.failed)).toBe(true);
  const earlier = rowsOf(closed(0, 10 - 300), true, new Set(), 0, CAUSE);
  expect(earlier.every(r => r.failed)).toBe(true);
  const handled = written(
    0,
    10,
    HEAD,
    CLOSED,
    '',
    'During handling of the above exception, another exception occurred:',
    '',
    HEAD,
    'KeyError: 3'
  );
  const own = rowsOf(handled, true, new Set(), 0, CAUSE);
  expect(own.some(r => r.follows)).toBe(false);
});

it('has a cause unless all errors are effects', () => {
  const error = {
    rank: 1,
    cell: '[4]',
    cell_id: null,
    line: 3,
    type: 'ValueError',
    message: 'bad',
    traceback: [],
    time: 10,
    node: 'box',
    signal: null
  };
  expect(causeOf(error)).toEqual(CAUSE);
  expect(causeOf({ ...error, signal: 9 })?.killed).toBe(true);
  expect(causeOf({ ...error, message: CLOSED })).toBeNull();
  expect(causeOf(null)).toBeNull();
});

it('shortens an error whose details are folded', () => {
  expect(shortError(CLOSED)).toBe('RuntimeError: … Connection reset by peer');
  expect(shortError('KeyError: 3')).toBe('KeyError: 3');
});
