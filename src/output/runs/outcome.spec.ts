import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { record } from '../../testing/record';
import { formatClock } from '../../metrics/format';
import { isStopped, outcomeOf, SummaryPart, soFar } from './outcome';

const trans = nullTranslator.load('dtrain_lab');
const RAISED: SummaryPart = {
  code: 'raised',
  values: { ranks: '2', error: 'ValueError: max() is', others: 0 }
};
const TAKEN: SummaryPart = {
  code: 'interrupted',
  values: { ranks: '0,3', operations: ['broadcast'], inside: '' }
};

it('says who failed, and what became of the others, by their codes', () => {
  const sentence = 'Worded in another way by a newer head.';
  expect(outcomeOf([RAISED, TAKEN], sentence, true, true, trans)).toEqual({
    head: 'Rank 2 failed.',
    rest: 'Ranks 0, 3 were interrupted in broadcast; variables are kept.'
  });
  // without a traceback below, the sentence contains the exception
  expect(outcomeOf([RAISED], sentence, false, true, trans).head).toBe(
    'Rank 2 failed: ValueError: max() is.'
  );
  const many = (others: number): SummaryPart => ({
    ...RAISED,
    values: { ...RAISED.values, others }
  });
  const head = (others: number): string =>
    outcomeOf([many(others)], sentence, false, true, trans).head;
  expect(head(1)).toContain('max() is (and 1 other).');
  expect(head(2)).toContain('max() is (and 2 others).');
});

it('names the way out for a GPU that a process can no longer use', () => {
  const broken: SummaryPart = {
    code: 'device',
    values: { ranks: '1', restart: '%distributed restart 1' }
  };
  expect(outcomeOf([RAISED, broken], '', true, true, trans).rest).toBe(
    'CUDA fails on rank 1 until you replace it: %distributed restart 1.'
  );
});

it('names those that hung in an operation where others did not', () => {
  const values = { ranks: '0-1', operations: ['barrier'], inside: '0' };
  expect(
    outcomeOf([{ code: 'interrupted', values }], '', false, true, trans).head
  ).toBe('Ranks 0–1 were interrupted (rank 0 in barrier); variables are kept.');
  // the cluster was stopped since: no variables are left
  expect(
    outcomeOf([{ code: 'interrupted', values }], '', false, false, trans).head
  ).toBe('Ranks 0–1 were interrupted (rank 0 in barrier).');
});

it('promises no variables of ranks that nobody knows, where the sentence has no parts', () => {
  const said = (survive: boolean): string =>
    outcomeOf(
      undefined,
      'Rank 0 was interrupted; variables are kept.',
      false,
      survive,
      trans
    ).head;
  expect(said(true)).toBe('Rank 0 was interrupted; variables are kept.');
  expect(said(false)).toBe('Rank 0 was interrupted.');
});

it('says who has stopped the cluster, and when, in words of its own', () => {
  const at = new Date(2026, 0, 1, 4, 12).getTime() / 1000;
  const said = (values: SummaryPart['values']): string =>
    outcomeOf([{ code: 'stopped', values }], 'English', false, true, trans)
      .head;
  const clock = formatClock(at * 1000);
  const by = { by: 'kernel', notebook: 'b c.ipynb', at };
  expect(said(by)).toBe(`The cluster was stopped by b c.ipynb at ${clock}.`);
  expect(said({ by: 'server', at })).toBe(
    `The cluster was stopped in JupyterLab at ${clock}.`
  );
  expect(said({})).toBe('The cluster was stopped.');
  expect(isStopped([{ code: 'stopped', values: {} }], 'English')).toBe(true);
  expect(said({ by: 'shutdown', at })).toBe(
    `The cluster was stopped with the Jupyter server at ${clock}.`
  );
  // a notebook that an earlier version has saved keeps its sentence
  const old = 'The cluster was stopped by b.ipynb at 04:12.';
  expect(outcomeOf(undefined, old, false, true, trans).head).toBe(old);
  expect(isStopped(undefined, old)).toBe(true);
  expect(isStopped(undefined, 'The cluster was stopped.')).toBe(true);
  expect(isStopped(undefined, 'Rank 1 failed.')).toBe(false);
});

it('lists several operations as everywhere', () => {
  const values = { ranks: '0-1', operations: ['barrier', 'broadcast'] };
  expect(
    outcomeOf([{ code: 'interrupted', values }], '', false, false, trans).head
  ).toBe('Ranks 0–1 were interrupted in barrier and broadcast.');
});

it('tells of a cell that goes on where one of its ranks has failed', () => {
  const failure = {
    rank: 1,
    kind: 'raised',
    type: 'NameError',
    message: '',
    frames: [],
    operation: null,
    detail: []
  };
  const runs = record({ state: 'running', failures: [failure] });
  expect(soFar(runs, trans)).toBe('Rank 1 failed. Rank 0 still runs.');
  expect(soFar(record({ state: 'running' }), trans)).toBe('');
  expect(soFar(record({ failures: [failure] }), trans)).toBe('');
});

it('shows the English text of a part that is new to it, else the sentence', () => {
  const part = { code: 'evaporated', values: {}, text: 'Rank 1 evaporated.' };
  expect(outcomeOf([part, TAKEN], 'All of it.', true, true, trans).head).toBe(
    'Rank 1 evaporated.'
  );
  const kept = { code: 'evaporated', values: {} };
  for (const said of [[kept, TAKEN], [], undefined]) {
    expect(outcomeOf(said, 'All of it.', true, true, trans)).toEqual({
      head: 'All of it.',
      rest: ''
    });
  }
});

it('says what the panel does of a cluster whose head was killed', () => {
  const { head } = outcomeOf(
    [{ code: 'killed', values: {} }],
    '',
    false,
    false,
    trans
  );
  expect(head).toBe(
    'The cluster ended unexpectedly. Its head process is gone. Variables are lost.'
  );
});
