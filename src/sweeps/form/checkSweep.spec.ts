import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Finding } from '../../tokens';
import { refusedIn, whyNot, withoutOwn } from './checkSweep';

const trans = nullTranslator.load('');
const finding = (field: string | null, message = 'M.'): Finding => ({
  severity: 'problem',
  code: 'c',
  message,
  fix: 'F.',
  cell: null,
  line: null,
  field,
  value: null,
  diff: '',
  parameter: null
});

it('leaves out what the form has found itself', () => {
  const found = ['space', 'objective', 'ranks_per_node', null].map(f =>
    finding(f)
  );
  const own = [{ field: 'vary', code: 'nothing varies' } as const];
  expect(withoutOwn(found, own).map(f => f.field)).toEqual([
    'objective',
    'ranks_per_node',
    null
  ]);
  expect(withoutOwn(found, [])).toHaveLength(4);
});

it('says beside a field what the server did not take', () => {
  const found = [finding('objective', 'No trial would report "loss".')];
  expect(refusedIn(null, [...found, finding(null)])).toEqual([
    {
      field: 'objective',
      parameter: null,
      text: 'No trial would report "loss". F.'
    }
  ]);
});

it('knows the parameter that the server did not take', () => {
  const found = { ...finding('space'), parameter: 'lr' };
  expect(refusedIn(null, [found])[0].parameter).toBe('lr');
});

it('says on the bar what is wrong', () => {
  expect(whyNot([], trans)).toBe('');
  expect(whyNot(['A is wrong.'], trans)).toBe('A is wrong.');
  expect(whyNot(['A is wrong.', 'B.'], trans)).toBe(
    'A is wrong. And 1 more problem.'
  );
});
