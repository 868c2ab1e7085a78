import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { CommandIDs } from '../../commands';
import { makeCluster, makeRank, makeVerdict } from '../../testing/clusters';
import { Cluster, Profile } from '../../tokens';
import { Actions } from './buttons';
import { ClusterHead, ShownAdvice } from './card';
import { noteRuns, stillEnded } from '../model/endedRuns';
import { PastCard } from './pastClusters';
import { RestartBody, sourceFor } from '../dialogs/restart';

const trans = nullTranslator.load('dtrain_lab');

function html(cluster: Cluster, now = 0): string {
  return renderToStaticMarkup(
    <ClusterHead
      cluster={cluster}
      ignored={null}
      profiles={[]}
      commands={new CommandRegistry()}
      trans={trans}
      now={now}
    />
  );
}

function said(cluster: Cluster, now = 0): string {
  return html(cluster, now)
    .replace(/<svg.*?<\/svg>/g, '')
    .replace(/<\/span> <span>/g, ' ')
    .replace(/<[^>]+>/g, '|');
}

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
  expect(said(ended[0])).toContain('Stopped. It ran for 2\u00a0h 14\u00a0min.');
  expect(said(ended[0])).toContain('Start again');
  expect(stillEnded(ended, [], [], 9000, run)).toBe(ended);
  const again = makeCluster({ id: 'c' });
  expect(stillEnded(ended, [], [again], 9000, run)).toEqual([]);
});

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
  const text = said(cluster, 121_000);
  expect(text).toContain('21\u00a0s so far; a start usually takes 4\u00a0s');
  expect(text).toContain('1 of 2 nodes are ready');
  expect(text).toContain('n1');
  // as far as the sentence says: those that have started are not connected yet
  expect(html({ ...cluster }, 121_000)).toContain('aria-valuenow="75"');
  expect(said({ ...cluster, usual_start_s: null }, 121_000)).toContain(
    '21\u00a0s so far|'
  );
  const late_nodes = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'];
  const load = { phase: 'load', done: 2, total: 8, elapsed_s: 9, late_nodes };
  expect(said({ ...cluster, progress: [load] })).toContain(
    'waits for n1, n2, n3, n4 and 2 more'
  );
});

it('says what to do next where nothing runs', () => {
  expect(said(makeCluster())).toContain('Run a cell that begins with');
  expect(said(makeCluster({ has_run: true }))).not.toContain('begins with');
  expect(said(makeCluster({ may: [] }))).not.toContain('Run a cell');
  const { metrics } = makeCluster();
  const last = { step_s: 1 } as NonNullable<typeof metrics.last>;
  const trained = makeCluster({ metrics: { ...metrics, last } });
  expect(said(trained)).not.toContain('Run a cell');
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

it('offers what can be done about a hang in the order of its use, and no interrupt where nothing runs', () => {
  const { metrics } = makeCluster();
  const running = [
    {
      cell: '[7]',
      notebook: 'train.ipynb',
      ranks: [0, 1],
      started_at: 1,
      cell_id: 'a'
    }
  ] as unknown as Cluster['running'];
  const stuck = makeCluster({
    running,
    ranks: [makeRank(0), makeRank(1, { state: 'stuck' })],
    metrics: { ...metrics, verdicts: [makeVerdict()] }
  });
  const text = said(stuck);
  const places = [
    'Interrupt, keep',
    'Stacks',
    'Restart rank 1…',
    'Copy report'
  ];
  expect(places.map(p => text.indexOf(p))).not.toContain(-1);
  expect(places.map(p => text.indexOf(p))).toEqual(
    places.map(p => text.indexOf(p)).sort((a, b) => a - b)
  );
  expect(said(makeCluster())).not.toContain('Interrupt');
  expect(said(makeCluster({ running }))).toContain('Interrupt');
});

it('offers to debug the rank that others wait for, unless it is in a collective, where it never pauses', () => {
  const commands = new CommandRegistry();
  commands.addCommand(CommandIDs.debugRank, { execute: () => undefined });
  const place = { ranks: [1], blamed: true, sequence: 7, bytes: null };
  const buttons = (operation: string | null): string => {
    const standings = [{ ...place, operation, where: null }];
    const { metrics } = makeCluster();
    const cluster = makeCluster({
      running: [{ cell: '[7]', ranks: [0, 1] }] as Cluster['running'],
      notebooks: ['train.ipynb'],
      ranks: [makeRank(0), makeRank(1, { state: 'stuck' })],
      metrics: { ...metrics, verdicts: [makeVerdict({ standings })] }
    });
    return renderToStaticMarkup(
      <Actions
        cluster={cluster}
        ignored={null}
        profiles={[]}
        commands={commands}
        trans={trans}
      />
    );
  };
  expect(buttons(null)).toContain('Debug rank 1');
  expect(buttons('broadcast')).not.toContain('Debug rank 1');
  expect(buttons('broadcast')).toContain('Stacks');
});

it('asks for no diagnosis while one runs', () => {
  const { metrics, summary } = makeCluster();
  const advice = (code: string): string =>
    renderToStaticMarkup(
      <ShownAdvice
        cluster={makeCluster({
          metrics: { ...metrics, no_advice: 'Too short.', current: false },
          may: ['stacks'],
          summary: { ...summary, code }
        })}
        commands={new CommandRegistry()}
        adviceState={{} as never}
        trans={trans}
      />
    );
  expect(advice('ready')).toContain('Diagnose now');
  expect(advice('diagnosing')).toBe('');
});

it('has a link beside a reason that asks for another diagnosis, and beside no other one once there was one', () => {
  const { metrics, summary } = makeCluster();
  const advice = (diagnosis_helps: boolean): string =>
    renderToStaticMarkup(
      <ShownAdvice
        cluster={makeCluster({
          metrics: {
            ...metrics,
            no_advice: 'The last diagnosis was too unsteady. Diagnose later.',
            diagnosis_helps,
            measured: true,
            current: false
          },
          may: ['stacks'],
          summary: { ...summary, code: 'ready' }
        })}
        commands={new CommandRegistry()}
        adviceState={{} as never}
        trans={trans}
      />
    );
  expect(advice(true)).toContain('Diagnose again');
  expect(advice(false)).not.toContain('<button');
});

it('says that a rank has finished the cell where others wait for it, and offers neither debugger nor restart of it', () => {
  const where = null;
  const verdict = makeVerdict({
    code: 'left',
    text: 'Rank 0 waits in all_reduce; rank 1 has finished the cell.',
    standings: [
      {
        ranks: [1],
        blamed: true,
        operation: null,
        sequence: null,
        bytes: null,
        where
      },
      {
        ranks: [0],
        blamed: false,
        operation: 'all_reduce',
        sequence: 7,
        bytes: null,
        where
      }
    ]
  });
  const { metrics } = makeCluster();
  const left = makeCluster({
    ranks: [makeRank(0, { state: 'in collective' }), makeRank(1)],
    metrics: { ...metrics, verdicts: [verdict] }
  });
  const text = said(left);
  expect(text).toContain('Rank 1||has finished the cell|');
  expect(text).not.toContain('not known yet');
  expect(text).not.toContain('Restart');
  expect(text).toContain('Interrupt, keep variables');
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
  expect(said(cluster)).toContain('copy the variables of another rank');
  const source = sourceFor(cluster, [0, 2]);
  expect(source).toBe(1);
  const body = new RestartBody(cluster, [0, 2], source, trans);
  expect(body.getValue()).toEqual({ ranks: [0, 2], source: 1 });
  expect(body.node.textContent).toContain('can be copied from rank 1');
  body.dispose();
  const plain = new RestartBody(cluster, [0, 2], null, trans);
  expect(plain.getValue().source).toBeNull();
  plain.dispose();
  expect(said(lose([0, 1, 2]))).not.toContain('copy the variables');
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
  expect(html(failed).match(/jp-mod-primary/g)).toHaveLength(1);
  expect(html(failed)).toContain('<pre tabindex="0">gpu-07 has no torch');
  // what its sentence has said already is not said again
  const text = 'local-2 did not start: gpu-07 has no torch.';
  const said = { ...failed, summary: { code: 'x', values: {}, text } };
  expect(html(said).match(/gpu-07 has no torch/g)).toHaveLength(1);
});

it('says that all is well only where nothing else is said', () => {
  const running = [{ cell: '[7]' }] as unknown as Cluster['running'];
  const { metrics } = makeCluster();
  const busy = makeVerdict({ kind: 'unknown', code: 'too_busy', ranks: [] });
  const glyph = (verdicts: Cluster['metrics']['verdicts']): string =>
    /data-kind="([^"]+)"/.exec(
      html(makeCluster({ running, metrics: { ...metrics, verdicts } }))
    )![1];
  expect(glyph([])).toBe('good');
  expect(glyph([busy])).toBe('busy');
  expect(glyph([makeVerdict({ kind: 'input_bound', code: 'x' })])).toBe('slow');
});

it('offers to go on where the debugger has stopped ranks, and to look at them', () => {
  const commands = new CommandRegistry();
  commands.addCommand(CommandIDs.debugRank, { execute: () => undefined });
  const running = [
    { label: '[7]', ranks: [0, 1], notebook: 'a.ipynb', started_at: 0 }
  ] as unknown as Cluster['running'];
  const paused = makeCluster({
    state: 'paused',
    running,
    notebooks: ['a.ipynb'],
    ranks: [makeRank(0, { state: 'paused' }), makeRank(1)]
  });
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
        commands={new CommandRegistry()}
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

it('is red while a rank does not answer an interrupt, and offers its restart first', () => {
  const text = 'Rank 1 does not answer the interrupt.';
  const hint = 'Rank 1 is stopped by a signal; SIGCONT resumes it.';
  const { metrics } = makeCluster();
  const common = { code: 'deaf', values: { ranks: '1' }, text };
  const verdict = makeVerdict({ ...common, hint, peers: [], since_s: null });
  const deaf = makeCluster({
    ranks: [makeRank(0), makeRank(1, { state: 'stuck' })],
    running: [
      { cell: '[7]', ranks: [0, 1], notebook: 'a.ipynb', started_at: 0 }
    ] as unknown as Cluster['running'],
    metrics: { ...metrics, verdicts: [verdict] },
    summary: common
  });
  expect(html(deaf)).toContain('data-kind="stuck"');
  const shown = said(deaf);
  for (const part of [text, hint, 'Interrupt again']) {
    expect(shown).toContain(part);
  }
  expect(shown.indexOf('Restart rank 1…')).toBeLessThan(
    shown.indexOf('Stacks')
  );
  expect(shown).toContain('Restart rank 1…');
  expect(shown).not.toContain('Ignore');
});
