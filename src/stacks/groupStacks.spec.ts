import { expect, it } from 'vitest';

import { nullTranslator } from '@jupyterlab/translation';

import { makeVerdict } from '../testing/clusters';
import { Stack, StackFrame, Verdict } from '../tokens';
import { groupStacks, userFrame } from './groupStacks';
import { doingOf, sentenceOf, stacksText, titleOf } from './texts';

const trans = nullTranslator.load('');

function frame(line: number, library = false): StackFrame {
  return {
    where: {
      notebook: library ? null : '/home/me/train.ipynb',
      cell: library ? null : '[7]',
      cell_id: null,
      cell_kind: 'cell' as const,
      called_from: null,
      file: library ? '/venv/site-packages/torch/autograd.py' : null,
      function: library ? 'backward' : '<module>',
      line
    },
    source: library ? '' : '    loss.backward()',
    library
  };
}

function stack(rank: number, ...frames: StackFrame[]): Stack {
  return { rank, text: `threads of ${rank}`, error: null, frames };
}

const ranks = Array.from({ length: 64 }, (_, rank) => rank);
const stacks = ranks.map(rank =>
  rank === 5
    ? stack(rank, frame(6))
    : stack(rank, frame(10), frame(200, true), frame(310, true))
);
const verdict = makeVerdict({
  ranks: [5],
  peers: ranks.filter(r => r !== 5),
  standings: [
    {
      ranks: ranks.filter(r => r !== 5),
      blamed: false,
      left: false,
      operation: 'all_reduce',
      sequence: 7,
      bytes: null,
      where: null
    }
  ]
});

it('folds equal stacks, the culprit first', () => {
  const groups = groupStacks(stacks, verdict);
  expect(groups.map(g => [titleOf(g, trans), doingOf(g, trans)])).toEqual([
    ['Rank 5', 'the others wait for it'],
    ['Ranks 0–4, 6–63', 'in all_reduce']
  ]);
  expect(sentenceOf(groups, trans)).toBe('64 ranks are at 2 places.');
  const together = (...of: number[]): string =>
    sentenceOf(
      groupStacks(
        of.map(rank => stack(rank, frame(6))),
        null
      ),
      trans
    );
  expect(together(0)).toBe('One rank.');
  expect(together(0, 1)).toBe('Both ranks are at the same place.');
  expect(together(0, 1, 2)).toBe('All 3 ranks are at the same place.');
  expect(groups[1].runs.map(r => [r.library, r.frames.length])).toEqual([
    [false, 1],
    [true, 2]
  ]);
  expect(userFrame(groups[1])?.where.line).toBe(10);
  expect(groups[0].moves).toBe(false);
  const slow = groupStacks(stacks, {
    ...verdict,
    kind: 'slow',
    alarm: false
  });
  expect([slow[0].blamed, slow[0].moves]).toEqual([true, true]);
});

it('puts what differs first where nobody is blamed', () => {
  const groups = groupStacks(stacks, null);
  expect(groups.map(g => g.ranks.length)).toEqual([1, 63]);
  const named = Array.from({ length: 40 }, (_, i) => stack(3 * i, frame(10)));
  expect(titleOf(groupStacks(named, null)[0], trans)).toBe('40 ranks');
});

it('tells a rank that does not answer, and one that runs nothing, apart', () => {
  const silent = { rank: 0, text: null, error: 'no answer', frames: [] };
  const groups = groupStacks([silent, stack(1), stack(2)], null);
  expect(groups.map(g => [g.ranks, doingOf(g, trans)])).toEqual([
    [[0], 'no answer'],
    [[1, 2], 'no cell runs here']
  ]);
});

it('is copied as text', () => {
  const text = stacksText('sft-8', groupStacks(stacks, verdict), trans);
  expect(text).toContain('Stacks: sft-8\n\nRank 5: the others wait for it\n');
  expect(text).toContain(
    '  cell [7], line 10, in <module>\n    loss.backward()'
  );
  expect(text).toContain('  /venv/site-packages/torch/autograd.py:310');
});

it('says what is known of ranks without a stack', () => {
  const gone = (rank: number): Stack => ({
    rank,
    text: null,
    error: 'It has ended.',
    frames: []
  });
  const of = (...stacks: Stack[]): string =>
    sentenceOf(groupStacks(stacks, null), trans);
  expect(of(stack(0), gone(1))).toBe('Rank 1 has no stack.');
  expect(of(stack(0), stack(1), gone(2), gone(3))).toBe(
    'Ranks 2–3 have no stacks. 2 ranks are at the same place.'
  );
});

it('names the one rank that waits, and says of a rank that it has finished the cell', () => {
  const doing = (
    verdict: Verdict,
    ...stacks: Stack[]
  ): Record<string, string | null> =>
    Object.fromEntries(
      groupStacks(stacks, verdict).map(g => [
        titleOf(g, trans),
        doingOf(g, trans)
      ])
    );
  const inside = stack(0, frame(10));
  expect(doing(makeVerdict(), inside, stack(1, frame(6)))).toMatchObject({
    'Rank 1': 'rank 0 waits for it'
  });
  expect(doing(makeVerdict({ code: 'left' }), inside, stack(1))).toMatchObject({
    'Rank 1': 'has finished the cell; rank 0 waits for it'
  });
  const outside = makeVerdict({ code: 'not_in_cell' });
  expect(doing(outside, inside, stack(1))).toMatchObject({
    'Rank 1': 'does not run this cell; rank 0 waits for it'
  });
  const extra = makeVerdict({ code: 'extra', ranks: [0], peers: [1] });
  expect(doing(extra, inside, stack(1))).toMatchObject({
    'Rank 1': 'has finished the cell'
  });
});
