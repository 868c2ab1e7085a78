import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { headHtml, headText } from '../../testing/clusterHead';
import { makeCluster, makeRank } from '../../testing/clusters';
import { makeCommands } from '../../testing/commands';
import { Cluster, Profile } from '../../tokens';
import { Actions } from './buttons';

const trans = nullTranslator.load('dtrain_lab');

it('says how long a start takes usually, and which nodes are late', () => {
  const ranks = Array.from({ length: 4 }, (_, n) =>
    makeRank(n, {
      node: `n${n >> 1}`,
      state: 'starting',
      pid: n < 3 ? 1000 + n : null
    })
  );
  const cluster = makeCluster({
    ranks,
    state: 'starting',
    created_at: 100,
    usual_start_s: 4.2,
    progress: [
      { phase: 'fork', done: 3, total: 4, elapsed_s: 1, late_nodes: [] }
    ]
  });
  const text = headText(cluster, 121_000);
  expect(text).toContain('21\u00a0s so far; a start usually takes 4\u00a0s');
  expect(text).toContain('1 of 2 nodes are ready');
  expect(text).toContain('n1');
  // as far as the sentence says, and never complete
  expect(headHtml(cluster, 102_100)).toContain('aria-valuenow="50"');
  expect(headHtml(cluster, 121_000)).toContain('aria-valuenow="95"');
  expect(headHtml({ ...cluster, usual_start_s: null }, 121_000)).toContain(
    'aria-valuenow="75"'
  );
  expect(headText({ ...cluster, usual_start_s: null }, 121_000)).toContain(
    '21\u00a0s so far|'
  );
  const late_nodes = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'];
  const load = { phase: 'load', done: 2, total: 8, elapsed_s: 9, late_nodes };
  expect(headText({ ...cluster, progress: [load] })).toContain(
    'waits for n1, n2, n3, n4 and 2 more'
  );
});

it('has one primary action where a start has failed', () => {
  const failed = makeCluster({
    state: 'failed',
    may: ['remove'],
    reason: {
      code: 'x',
      message: 'gpu-07 has no torch',
      hint: '',
      final: true,
      since_s: null,
      expected_start_at: null,
      ahead: null,
      host: null,
      alternatives: []
    } as Cluster['reason']
  });
  expect(headHtml(failed).match(/jp-mod-primary/g)).toHaveLength(1);
  expect(headHtml(failed)).toContain('<pre tabindex="0">gpu-07 has no torch');
  // what its sentence has said already is not said again
  const text = 'local-2 did not start: gpu-07 has no torch.';
  const said = { ...failed, summary: { code: 'x', values: {}, text } };
  expect(headHtml(said).match(/gpu-07 has no torch/g)).toHaveLength(1);
});

it('offers to edit the profile of a cluster that failed, unless it is built in', () => {
  const profiles = [
    { name: 'local', file: null },
    { name: 'mine', file: 'mine.toml' }
  ] as Profile[];
  const shown = (profile: string, known = profiles): string =>
    renderToStaticMarkup(
      <Actions
        cluster={makeCluster({ profile, state: 'failed', may: ['remove'] })}
        ignored={null}
        profiles={known}
        commands={makeCommands()}
        trans={trans}
      />
    );
  expect(shown('mine')).toContain('Edit the profile');
  expect(shown('local')).not.toContain('Edit the profile');
  // a user's own of that name, and before the server has answered
  expect(shown('local', [{ ...profiles[1], name: 'local' }])).toContain(
    'Edit the profile'
  );
  expect(shown('mine', [])).not.toContain('Edit the profile');
});
