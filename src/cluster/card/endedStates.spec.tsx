import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { headText } from '../../testing/clusterHead';
import { makeCluster, makeRank } from '../../testing/clusters';
import { Cluster } from '../../tokens';
import { needsAttention } from '../../verdicts/sentence';
import { reportText } from '../model/clusterReport';
import { noteRuns, stillEnded } from '../model/endedRuns';
import { PastCard } from './pastClusters';
import { RestartBody, sourceFor } from '../dialogs/restart';

const trans = nullTranslator.load('dtrain_lab');

it('keeps a cluster that ended, with how long it ran, until its name is used again', () => {
  const ran = makeCluster({ id: 'a', created_at: 100 });
  const waited = makeCluster({ id: 'b', name: 'b', state: 'pending' });
  const stops = makeCluster({ id: 'b', name: 'b', state: 'stopped' });
  const run = new Set<string>();
  const seen = new Set<string>();
  noteRuns(run, seen, [ran, waited]);
  noteRuns(run, seen, [ran, stops]);
  const ended = stillEnded([], [ran, stops], [], 100 + 8040, run);
  expect(ended.map(c => [c.id, c.state])).toEqual([['a', 'stopped']]);
  expect(headText(ended[0])).toContain(
    'Ended. It ran for 2\u00a0h 14\u00a0min.'
  );
  expect(headText(ended[0])).toContain('Start again');
  expect(stillEnded(ended, [], [], 9000, run)).toBe(ended);
  const again = makeCluster({ id: 'c' });
  expect(stillEnded(ended, [], [again], 9000, run)).toEqual([]);
});

it('says that a cluster whose head was killed ended unexpectedly, and where the log is', () => {
  const cluster = makeCluster({ id: 'a', created_at: 100 });
  const end = (values: object): Cluster => {
    const ended = { a: { code: 'stopping', values, text: '' } };
    const all = stillEnded(
      [],
      [cluster],
      [],
      146,
      new Set('a'),
      ended as never
    );
    return all[0];
  };
  const killed = end({ by: 'killed', at: 146, log: '/logs/a.head' });
  const said = headText(killed);
  expect(said).toContain('Ended unexpectedly. It ran for 46\u00a0s.');
  expect(said).toContain(
    'Its head process is gone. Variables are lost. The log of its head: /logs/a.head'
  );
  expect(said).toContain('Copy report');
  expect(needsAttention(killed)).toBe(true);
  expect(reportText(killed, trans)).toContain(
    '- Its head process is gone. Variables are lost. The log of its head: /logs/a.head'
  );
  // others are no failures
  const by = (values: object): string => headText(end(values));
  expect(by({ by: 'killed' })).toContain('Variables are lost.|');
  expect(by({ by: 'away' })).toContain(
    'Ended while the Jupyter server was not running.'
  );
  expect(by({ by: 'unknown', at: 146 })).toContain('|Ended. It ran for');
  expect(by({ by: '', at: 146 })).toContain('|Stopped at ');
  expect(by({ by: '', at: 146 })).not.toContain('Copy report');
});

it('claims nothing about now without a server', () => {
  const html = renderToStaticMarkup(
    <PastCard
      cluster={makeCluster({
        summary: { code: 'training', values: { total: 2 }, text: '' }
      })}
      history={[]}
      lastFrameAt={new Date(2026, 0, 5, 12, 6, 31)}
      trans={trans}
    />
  );
  expect(html).toContain('Was training at ');
  expect(html).toContain('2 ranks kept pace');
  expect(html).not.toContain('role="status"');
  expect(html).not.toContain('<button');
});

it('copies from a living rank where somebody asks to copy the variables of another rank', () => {
  const lose = (lost: readonly number[]): Cluster =>
    makeCluster({
      state: 'degraded',
      ranks: [0, 1, 2].map(n =>
        makeRank(n, { state: lost.includes(n) ? 'lost' : 'idle' })
      ),
      lost: lost.map(rank => ({ rank })) as unknown as Cluster['lost']
    });
  const cluster = lose([0, 2]);
  expect(headText(cluster)).toContain('copy the variables of another rank');
  const source = sourceFor(cluster, [0, 2]);
  expect(source).toBe(1);
  const body = new RestartBody(cluster, [0, 2], source, trans);
  expect(body.getValue()).toEqual({ ranks: [0, 2], source: 1 });
  expect(body.node.textContent).toContain('can be copied from rank 1');
  body.dispose();
  const plain = new RestartBody(cluster, [0, 2], null, trans);
  expect(plain.getValue().source).toBeNull();
  plain.dispose();
  expect(headText(lose([0, 1, 2]))).not.toContain('copy the variables');
});
