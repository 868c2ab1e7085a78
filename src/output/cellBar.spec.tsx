import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeCluster, makeRank, makeVerdict } from '../testing/clusters';
import { record as recorded } from '../testing/record';
import { formatClock } from '../metrics/format';
import { Bar } from './cellBar';
import { Cluster } from '../tokens';
import { RunState } from './runs/storedRun';
import { IRunStatus } from './runStatus';

const trans = nullTranslator.load('dtrain_lab');
const actions = { choose: () => undefined, interrupt: null, stacks: null };

/** What the bar of a cell says. */
function said(
  state: RunState,
  ranks: number[],
  failure = '',
  more: Partial<IRunStatus> = {}
): string {
  const known = { record: null, cluster: null, seconds: null };
  const node = document.createElement('div');
  node.innerHTML = renderToStaticMarkup(
    <Bar
      status={{ ...known, state, ranks, ...more }}
      ranks={ranks}
      choice="together"
      hasChoice={ranks.length > 1}
      outcome={{ head: failure, rest: '' }}
      actions={actions}
      trans={trans}
    />
  );
  const text = node.querySelector('.jp-DtrainOutput-state')?.textContent ?? '';
  return text.trim();
}

it('counts no ranks of a cell that waits and whose ranks are not known yet', () => {
  expect(said('waiting', [])).toBe('queued');
  expect(said('waiting', [0, 1])).toBe('2 ranks queued');
});

it('says which cluster is started for it, and how far that is', () => {
  const starts = (cluster: Partial<Cluster> | 'unknown'): string =>
    said('waiting', [0, 1], '', {
      starts: cluster === 'unknown' ? cluster : makeCluster(cluster)
    });
  const summary = (code: string, values: object = {}): Partial<Cluster> => ({
    state: 'starting',
    summary: { code, values: values as Cluster['summary']['values'], text: '' }
  });
  expect(starts('unknown')).toBe('starting a cluster');
  expect(starts(summary('loading_torch'))).toBe(
    'starting local-2: loading PyTorch'
  );
  expect(starts(summary('starting', { done: 1, total: 2 }))).toBe(
    'starting local-2: 1 of 2 ranks'
  );
  expect(starts(summary('connecting', { total: 2 }))).toBe(
    'starting local-2: connecting 2 ranks'
  );
  expect(starts(summary('other'))).toBe('starting local-2');
  expect(starts({ state: 'pending' })).toBe('waiting for the nodes of local-2');
});

it('keeps what ranks hung in once they are interrupted, and names whose variables are lost', () => {
  const mere = 'Ranks 0–1 were interrupted; variables are kept.';
  const record = recorded();
  expect(said('interrupted', [0, 1], mere, { plain: true, record })).toBe(
    'Interrupted. The ranks keep their variables.'
  );
  const more = { plain: true, restarted: true, record };
  expect(said('interrupted', [0, 1], mere, more)).toBe(
    'Interrupted by a restart of the kernel. The ranks keep their variables.'
  );
  const values = { ranks: '0-1', operations: ['barrier'], inside: '0' };
  const found = [{ code: 'interrupted', values }];
  expect(
    said('interrupted', [0, 1], mere, { plain: true, record, said: found })
  ).toBe('Interrupted. Rank 0 was in barrier. The ranks keep their variables.');
  // no cluster has a record of the run any more
  expect(said('interrupted', [0, 1], mere, { plain: true })).toBe(
    'Interrupted.'
  );
  // its record is from before the server has ended, and the cluster with it
  const unheard = { since: null, clustersStopped: true };
  expect(
    said('interrupted', [0, 1], mere, { plain: true, record, unheard })
  ).toBe('Interrupted.');
  for (const cause of [
    'Rank 1 called broadcast where rank 0 called all_reduce.',
    'Rank 1 was restarted: its variables are lost.'
  ]) {
    const whole = `${cause} Rank 0 was interrupted in all_reduce; variables are kept.`;
    expect(said('interrupted', [0, 1], whole)).toBe(`Interrupted. ${whole}`);
  }
});

it('says of a cell only what was known when the server was last heard of', () => {
  const since = new Date(2026, 0, 1, 12, 6, 31);
  const text = said('running', [0, 1], '', { unheard: { since } });
  expect(text).toBe(
    `2 ranks No connection to the server. At ${formatClock(since, true)} it was running.`
  );
  expect(said('running', [0, 1], '', { unheard: { since: null } })).toBe(
    '2 ranks No connection to the server.'
  );
  expect(said('done', [0, 1], '', { unheard: { since } })).toBe('2 ranks');
});

it('calls a cell whose cluster somebody stopped no failure', () => {
  const text = said('failed', [0, 1], 'The cluster was stopped.');
  expect(text).toBe('The cluster was stopped.');
  const unsaved = { partial: true };
  expect(said('failed', [0, 1], 'The cluster was stopped.', unsaved)).toMatch(
    /stopped\. +Output that was not saved is lost\.$/
  );
});

it('says where a cell is paused, and no time as if it ran', () => {
  const record = recorded({ state: 'running', ended_at: null });
  const text = 'Paused on 1 rank at cell [7], line 6.';
  const cluster = makeCluster({
    state: 'paused',
    summary: { code: 'paused', values: {}, text },
    ranks: [
      makeRank(0, { state: 'paused' }),
      makeRank(1, { state: 'in collective' }),
      makeRank(2, { state: 'busy' })
    ]
  });
  const bar = (ranks: number[]): string =>
    said('running', ranks, '', { record, cluster, seconds: 12 }).replace(
      /\u00a0/g,
      ' '
    );
  expect(bar([0, 1])).toBe(text);
  expect(bar([2])).toContain('running for 12 s');
});

it('says that training waits for data, and leaves out communication', () => {
  const cluster = makeCluster();
  const text = 'Training waits for data: 91 % of a step.';
  const verdict = makeVerdict({ kind: 'input_bound', text, ranks: [] });
  const shown = { verdicts: [{ ...verdict, peers: [] }], current: true };
  const metrics = { ...cluster.metrics, ...shown, samples_per_s: 275 };
  const record = recorded({ state: 'running', ended_at: null });
  const world = { ...cluster, metrics: { ...metrics, comm_overhead: 0.03 } };
  const bar = said('running', [0, 1], '', { record, cluster: world });
  expect(bar.replace(/\u00a0/g, ' ')).toBe(`2 ranks  ${text} 275 samples/s`);
});

it('says what communication takes, as the status bar does, where no throughput is known', () => {
  const cluster = makeCluster();
  const record = recorded({ state: 'running', ended_at: null });
  const bar = (more: object): string => {
    const shown = { current: true, verdicts: [], samples_per_s: null };
    const metrics = { ...cluster.metrics, ...shown, ...more };
    const world = { ...cluster, metrics };
    return said('running', [0, 1], '', {
      record,
      cluster: world,
      seconds: 35
    }).replace(/\u00a0/g, ' ');
  };
  const known = { comm_overhead: 0.85, comm_overhead_error: 0.16 };
  expect(bar(known)).toBe(
    '2 ranks running for 35 s  communication at least 69 %'
  );
  const vague = { comm_overhead: 0.5, comm_overhead_error: 0.6 };
  expect(bar(vague)).toMatch(/^2 ranks running for 35 s *$/);
  const unknown = { comm_overhead: null, comm_overhead_error: null };
  expect(bar(unknown)).toMatch(/^2 ranks running for 35 s *$/);
});
