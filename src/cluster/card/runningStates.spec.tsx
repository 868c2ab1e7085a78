import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { headHtml, headText } from '../../testing/clusterHead';
import { makeCluster, makeRank, makeVerdict } from '../../testing/clusters';
import { makeCommands } from '../../testing/commands';
import { Cluster } from '../../tokens';
import { Actions } from './buttons';

const trans = nullTranslator.load('dtrain_lab');

it('says what to do next where nothing runs', () => {
  expect(headText(makeCluster())).toContain('Run a cell that begins with');
  expect(headText(makeCluster({ has_run: true }))).not.toContain('begins with');
  expect(headText(makeCluster({ may: [] }))).not.toContain('Run a cell');
  const { metrics } = makeCluster();
  const last = { step_s: 1 } as NonNullable<typeof metrics.last>;
  const trained = makeCluster({ metrics: { ...metrics, last } });
  expect(headText(trained)).not.toContain('Run a cell');
});

it('says that all is well only where nothing else is said', () => {
  const running = [{ cell: '[7]' }] as unknown as Cluster['running'];
  const { metrics } = makeCluster();
  const busy = makeVerdict({ kind: 'unknown', code: 'too_busy', ranks: [] });
  const glyph = (verdicts: Cluster['metrics']['verdicts']): string =>
    /data-kind="([^"]+)"/.exec(
      headHtml(makeCluster({ running, metrics: { ...metrics, verdicts } }))
    )![1];
  expect(glyph([])).toBe('good');
  expect(glyph([busy])).toBe('busy');
  expect(glyph([makeVerdict({ kind: 'input_bound', code: 'x' })])).toBe('slow');
});

it('offers to go on where the debugger has stopped ranks, and to look at them', () => {
  const commands = makeCommands();
  const running = [
    { label: '[7]', ranks: [0, 1], notebook: 'a.ipynb', started_at: 0 }
  ] as unknown as Cluster['running'];
  const paused = makeCluster({
    state: 'paused',
    running,
    notebooks: ['a.ipynb'],
    ranks: [makeRank(0, { state: 'paused' }), makeRank(1)]
  });
  expect(headText({ ...paused, state: 'ready' })).toContain('running for');
  expect(headText(paused)).not.toContain('running for');
  const shown = (cluster: Cluster): string[] =>
    [
      ...renderToStaticMarkup(
        <Actions
          cluster={cluster}
          ignored={null}
          profiles={[]}
          commands={commands}
          trans={trans}
        />
      ).matchAll(/<button[^>]*>([^<]+)/g)
    ].map(match => match[1]);
  expect(shown(paused).slice(0, 2)).toEqual(['Continue', 'Debug']);
  const runs = { ...paused, ranks: [makeRank(0), makeRank(1)] };
  expect(shown(runs)).not.toContain('Continue');
  expect(shown(paused)).toContain('Interrupt');
});

it('names the cell whose failure is looked at, and interrupts none, as none runs', () => {
  const looks = makeCluster({
    state: 'paused',
    running: [
      {
        cell: '[5]',
        kind: 'post_mortem',
        ranks: [1],
        notebook: 'debug.ipynb',
        cell_id: 'five',
        started_at: 0
      }
    ] as unknown as Cluster['running'],
    notebooks: ['debug.ipynb'],
    ranks: [makeRank(0), makeRank(1, { state: 'paused' })]
  });
  const text = headText(looks).replace(/\|+/g, '');
  expect(text).toContain('debug.ipynb, cell\u00a0[5], after its failure');
  expect(text).toContain('Continue');
  expect(text).not.toContain('Interrupt');
});

it('says which notebooks use it, and which used it earlier where no notebook does', () => {
  const left = makeCluster({ former_notebooks: ['a.ipynb', 'x/b.ipynb'] });
  expect(headText(left)).toContain('used earlier by a.ipynb and b.ipynb');
  const used = headText({ ...left, notebooks: ['c.ipynb'] });
  expect(used).toContain('c.ipynb');
  expect(used).not.toContain('earlier');
});
