import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makeCluster, makeRank, makeVerdict } from '../../testing/clusters';
import { doing } from './rankFacts';
import { differs, listed, markedFirst, rankGlyph, rankWord } from './texts';

const trans = nullTranslator.load('dtrain_lab');

it('lists a rank as failed whose peer goes on', () => {
  const ranks = [makeRank(0, { state: 'busy' }), makeRank(1)];
  const cluster = makeCluster({
    ranks,
    summary: { code: 'failing', values: { ranks: '1', still: '0' }, text: '' }
  });
  const found = listed(cluster, trans);
  expect(found.map(rankGlyph)).toEqual(['busy', 'failed']);
  expect([rankWord(found[1], trans), doing(found[1], trans)]).toEqual([
    'failed',
    'failed'
  ]);
  expect(listed(makeCluster({ ranks }), trans)).toBe(ranks);
});

it('lists ranks that differ before the others', () => {
  const ranks = [0, 1, 2, 3].map(rank => makeRank(rank, { state: 'busy' }));
  ranks[2].slow = true;
  ranks[3].state = 'lost';
  expect(markedFirst(ranks).map(r => r.rank)).toEqual([3, 2, 0, 1]);
  expect(ranks.filter(differs).map(r => r.rank)).toEqual([2, 3]);
});

it('calls a rank what the verdict on it says', () => {
  const ranks = [
    makeRank(0, { state: 'in collective' }),
    makeRank(1, { state: 'stuck' })
  ];
  const { metrics } = makeCluster();
  const words = (code: string): string[] => {
    const verdicts = [makeVerdict({ code })];
    const cluster = makeCluster({ ranks, metrics: { ...metrics, verdicts } });
    return listed(cluster, trans).map(rank => rankWord(rank, trans));
  };
  expect(words('stuck')).toEqual(['in a collective', 'stuck']);
  expect(words('computing')).toEqual(['in a collective', 'still computing']);
  expect(words('mismatch')).toEqual([
    'in a collective',
    'in another collective'
  ]);
  expect(words('deaf')[1]).toBe('no answer');
  // it is busy, and as conspicuous as one that is stuck
  ranks[1] = makeRank(1, { state: 'busy' });
  expect(words('computing')[1]).toBe('still computing');
  const verdicts = [makeVerdict({ code: 'computing' })];
  const computes = makeCluster({ ranks, metrics: { ...metrics, verdicts } });
  expect(listed(computes, trans).map(rankGlyph)).toEqual([
    'in collective',
    'stuck'
  ]);
});
