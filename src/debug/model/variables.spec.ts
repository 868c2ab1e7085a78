import { expect, it } from 'vitest';

import { AcrossRow } from './model';
import { differencesIn, IDifferences, variablesOf } from './variables';

it('finds what has a value in the frame of a rank', async () => {
  const asked: [string, object][] = [];
  const bodies: Record<string, object> = {
    stackTrace: { stackFrames: [{ id: 7 }, { id: 8 }] },
    scopes: { scopes: [{ variablesReference: 9 }, { variablesReference: 10 }] },
    variables: {
      variables: [
        { name: 'special variables', type: '' },
        { name: 'loss', type: 'Tensor' },
        { name: 'torch', type: 'module' },
        { name: 'Net', type: 'type' },
        { name: 'step', type: 'function' },
        { name: '_i', type: 'str' },
        { name: 'rank', type: 'int' },
        { name: 'größe', type: 'int' }
      ]
    }
  };
  const names = await variablesOf(async (command, args) => {
    asked.push([command, args]);
    return { body: bodies[command] };
  }, 2);
  expect(names).toEqual(['loss', 'größe']);
  expect(asked).toEqual([
    ['stackTrace', { threadId: 1003 }],
    ['scopes', { frameId: 7 }],
    ['variables', { variablesReference: 9 }]
  ]);
  expect(await variablesOf(async () => ({}), 0)).toEqual([]);
});

const row = (expression: string, texts: string[], errors = 0): AcrossRow => ({
  expression,
  same: texts.length === 1 && !errors,
  first: '',
  differing: 0,
  total: 0,
  running: [],
  text: '',
  groups: [...texts, ...Array<string>(errors).fill('NameError')].map(
    (text, i) => ({
      ranks: [i],
      text,
      outlier: false,
      shape: null,
      dtype: null,
      device: null,
      norm: null,
      nans: 0,
      max_abs: null,
      error: i >= texts.length
    })
  )
});

it('shows what differs, counts what is the same, and leaves out what other ranks do not have', async () => {
  const rows: Record<string, AcrossRow> = {
    loss: row('loss', ['1', '2']),
    epoch: row('epoch', ['3']),
    own: row('own', ['4'], 1)
  };
  const told: IDifferences[] = [];
  await differencesIn(
    ['loss', 'epoch', 'own', 'all_reduced'],
    async name => {
      if (!rows[name]) {
        throw new Error('This expression runs a collective.');
      }
      return rows[name];
    },
    found => told.push(found),
    () => true
  );
  expect(told.at(-1)).toEqual({ rows: [rows.loss], same: 1, own: 1, left: 0 });
  expect(told.map(found => found.left)).toEqual([3, 2, 1, 0]);

  let calls = 0;
  await differencesIn(
    ['loss', 'epoch'],
    async name => ((calls += 1), rows[name]),
    () => expect.unreachable(),
    () => false
  );
  expect(calls).toBe(1);
});
