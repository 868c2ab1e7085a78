import { expect, it } from 'vitest';

import {
  AcrossRow,
  differencesIn,
  IDifferences,
  MOST,
  Only,
  variablesOf
} from './compareVariables';

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

type Group = [ranks: number[], text: string];

/** The ranks' answer for an expression; a value that ends in "defined" or "Error" is an error. */
const row = (
  expression: string,
  groups: Group[],
  running: number[] = []
): AcrossRow => ({
  expression,
  same: groups.length === 1 && !running.length,
  first: '',
  differing: 0,
  total: 0,
  running,
  comparable: true,
  text: '',
  groups: groups.map(([ranks, text]) => ({
    ranks,
    text,
    outlier: false,
    shape: null,
    dtype: null,
    device: null,
    norm: null,
    nans: 0,
    exact: '',
    max_abs: null,
    error: /(defined|Error)$/.test(text),
    lacks: /defined$/.test(text)
  }))
});

/** The final result of a comparison with these answers; a name without an answer can't be evaluated. */
async function compared(
  names: string[],
  rows: AcrossRow[],
  size: number,
  only: Only[] = []
): Promise<IDifferences> {
  const told: IDifferences[] = [];
  await differencesIn(
    names,
    Array.from({ length: size }, (_, rank) => rank),
    only,
    async name => {
      const found = rows.find(one => one.expression === name);
      if (!found) {
        throw new Error('This expression runs a collective.');
      }
      return found;
    },
    found => told.push(found),
    () => true
  );
  expect(told.map(found => found.left)).toEqual(
    told.map((_, i) => told.length - 1 - i)
  );
  return told.at(-1)!;
}

const TORCH = { ranks: [0, 2], names: ['torch'] };

it('shows what differs, names what some ranks lack, and counts every other variable by what is known of it', async () => {
  const loss = row('loss', [
    [[0, 1], '1'],
    [[2], '2']
  ]);
  const rows = [
    loss,
    row('epoch', [[[0, 1, 2], '3']]),
    row('own', [
      [[0], '4'],
      [[1, 2], "name 'own' is not defined"]
    ]),
    row('two', [
      [[0, 1], '4'],
      [[2], "NameError: name 'two' is not defined"]
    ]),
    row('slow', [
      [[0, 1], '4'],
      [[2], 'TimeoutError']
    ])
  ];
  const names = [...rows.map(one => one.expression), 'all_reduced'];
  expect(await compared(names, rows, 3, [TORCH])).toEqual({
    rows: [loss],
    same: 1,
    alike: 0,
    only: [
      TORCH,
      { ranks: [0], names: ['own'] },
      { ranks: [0, 1], names: ['two'] }
    ],
    unknown: 2,
    beyond: 0,
    unseen: [],
    left: 0
  });
});

it('counts an object apart that has nothing but its address', async () => {
  const found = { ...row('x', [[[0, 1], '<A object>']]), comparable: false };
  expect(await compared(['x'], [found], 2)).toMatchObject({
    same: 0,
    unknown: 1
  });
});

it('calls nothing the same on ranks that run, which were not looked at', async () => {
  const alone = await compared(['x'], [row('x', [[[0], '1']], [1, 2, 3])], 4);
  expect(alone).toMatchObject({ same: 0, unknown: 1, unseen: [1, 2, 3] });
  const most = await compared(['x'], [row('x', [[[0, 1], '1']], [2])], 3);
  expect(most).toMatchObject({ same: 0, alike: 1, unseen: [2] });
  // the same holds for a rank that gave no answer and is not known to be running
  const silent = await compared(['x'], [row('x', [[[0, 1], '1']])], 3);
  expect(silent).toMatchObject({ same: 0, alike: 1, unseen: [2] });
});

it('tells how many variables are beyond those that are looked at', async () => {
  const names = Array.from({ length: MOST + 23 }, (_, i) => `x${i}`);
  const rows = names.map(name => row(name, [[[0, 1], '1']]));
  expect(await compared(names, rows, 2)).toMatchObject({
    same: MOST,
    beyond: 23
  });
});

it('asks no more once nobody wants to know', async () => {
  let calls = 0;
  await differencesIn(
    ['loss', 'epoch'],
    [0],
    [],
    async name => ((calls += 1), row(name, [[[0], '1']])),
    () => expect.unreachable(),
    () => false
  );
  expect(calls).toBe(1);
});
