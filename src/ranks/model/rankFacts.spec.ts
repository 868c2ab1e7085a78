import { expect, it } from 'vitest';

import { nullTranslator } from '@jupyterlab/translation';

import { makeRank, makeVerdict } from '../../testing/clusters';
import { doing, hangPositionText } from './rankFacts';
import { stuckFor, stuckText } from '../table/rankGrid';

const trans = nullTranslator.load('');

it('says of a world that stands where the one is, and what the others wait in', () => {
  const where = {
    notebook: 'train.ipynb',
    cell: '[7]',
    cell_id: null,
    cell_kind: 'cell' as const,
    called_from: null,
    file: null,
    function: null,
    line: 6
  };
  const verdict = makeVerdict({
    standings: [
      {
        ranks: [1],
        blamed: true,
        left: false,
        operation: null,
        sequence: null,
        bytes: null,
        where
      },
      {
        ranks: [0],
        blamed: false,
        left: false,
        operation: 'all_reduce',
        sequence: 22093,
        bytes: null,
        where: { ...where, line: 10 }
      }
    ]
  });
  expect(
    hangPositionText(makeRank(1, { state: 'stuck' }), verdict, trans)
  ).toBe('cell\u00a0[7], line\u00a06');
  const waits = makeRank(0, { state: 'in collective', doing: 'backward' });
  expect(hangPositionText(waits, verdict, trans)).toBe(
    'all_reduce, no. 22,093 of this cell'
  );
  expect(hangPositionText(waits, verdict, trans, true)).toBe('all_reduce');
  const [stuck, peers] = verdict.standings;
  const apart = { ...peers, ranks: [2], sequence: 22092 };
  expect(
    hangPositionText(
      waits,
      { ...verdict, standings: [stuck, peers, apart] },
      trans,
      true
    )
  ).toBe('all_reduce, no. 22,093 of this cell');
  // where it is paused is known, and more than what it was doing
  const stands = makeRank(0, { state: 'paused', doing: 'all_reduce', where });
  expect(doing(stands, trans)).toBe('cell\u00a0[7], line\u00a06');
  // a rank of which the verdict says nothing
  expect(hangPositionText(makeRank(2, { doing: 'data' }), verdict, trans)).toBe(
    'data'
  );
});

it('says since when of the ranks that are in trouble only', () => {
  const deaf = makeVerdict({ code: 'deaf', ranks: [1], peers: [] });
  expect([0, 1].map(rank => stuckFor(makeRank(rank), deaf))).toEqual([
    null,
    14
  ]);
  const stuck = makeVerdict({ ranks: [1], peers: [0] });
  expect(stuckFor(makeRank(0), stuck)).toBe(14);
});

it('says since when in as few words as its column has room for', () => {
  expect([null, 14.4, 74, 7400].map(stuckText)).toEqual([
    '–',
    '14\u00a0s',
    '1\u00a0min',
    '2\u00a0h'
  ]);
});
