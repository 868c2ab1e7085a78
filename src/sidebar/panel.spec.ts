import { afterEach, expect, it, vi } from 'vitest';

import { CommandIDs } from '../commands';
import { makeCluster, makeFrame, makeRank } from '../testing/clusters';
import { button, panel, show, SITE, text } from '../testing/panel';
import { Job } from '../tokens';

afterEach(() => {
  panel.dispose();
});

it('offers one button and the snippet where no cluster runs', async () => {
  const { ran } = show([]);
  await text('No cluster is running.');
  expect(panel.node.textContent).toContain('This machine has 2 cores');
  expect(panel.node.textContent).toContain('%%distributed cells');
  button('Start 2 ranks here').click();
  expect(ran).toEqual([[CommandIDs.startCluster, { ranks: 2 }]]);
});

it('says nothing of now without a server', async () => {
  const { model } = show([]);
  await text('No cluster is running.');
  model.testLink = 'lost';
  model.changed.emit();
  await text('no cluster was running.');
  await text('there was no job.');
  expect(panel.node.textContent).not.toContain('No cluster is running.');
  expect(panel.node.textContent).not.toContain('No jobs yet.');
  expect(button('Start 2 ranks here')).toBeUndefined();
  expect(button('Insert')).toBeUndefined();
});

it('shows grey bars before it knows the site', async () => {
  const { site } = show([]);
  site.testFacts = null;
  site.changed.emit();
  await vi.waitFor(() =>
    expect(panel.node.querySelector('[aria-busy]')).not.toBeNull()
  );
});

it('says the one sentence, as a status', async () => {
  show([makeCluster()]);
  await text('Ready. 2 ranks wait for a cell.');
  expect(
    panel.node.querySelector('.jp-DtrainCluster-card [role=status]')
  ).not.toBeNull();
  expect(panel.node.querySelector('[role=alert]')).toBeNull();
});

it('puts a lost rank first and offers to restart it', async () => {
  const ranks = [makeRank(0), makeRank(1, { state: 'lost' })];
  const { ran } = show([
    makeCluster({
      ranks,
      state: 'degraded',
      without_lost: { size: 1, lost: [1], ending: [], replaced: [] },
      summary: {
        code: 'lost',
        values: { ranks: '1' },
        text: 'Rank 1 was lost. The cell has failed.'
      }
    })
  ]);
  await text('Rank 1 was lost. The cell has failed.');
  expect(panel.node.querySelector('[role=alert]')).not.toBeNull();
  const rows = [...panel.node.querySelectorAll('[data-rank]')];
  expect(rows.map(r => r.getAttribute('data-rank'))).toEqual(['1', '0']);
  button('Restart rank 1').click();
  expect(ran).toEqual([[CommandIDs.restartRanks, { id: 'c1', ranks: [1] }]]);
  button('Go on with 1 rank').click();
  expect(ran[1]).toEqual([CommandIDs.leaveOutRanks, { id: 'c1' }]);
});

it('counts what it lists: also the cluster that has just stopped', async () => {
  const advised = makeCluster();
  advised.metrics.no_advice = 'Advice would be a guess.';
  const { model } = show([advised]);
  await text('1 running');
  model.receive(makeFrame([]));
  await text('1 stopped');
  expect(panel.node.textContent).not.toContain('Clustersnone');
  expect(panel.node.textContent).not.toContain('Advice');
});

it('shows progress and a way out while it starts', async () => {
  const progress = [
    { phase: 'load', done: 1, total: 1, elapsed_s: 3.2, late_nodes: [] },
    { phase: 'fork', done: 1, total: 2, elapsed_s: 0.4, late_nodes: [] }
  ];
  show([makeCluster({ state: 'starting', progress, may: ['stop'] })]);
  await text('Start ranks');
  expect(panel.node.textContent).toContain('1 of 2');
  expect(button('Cancel')).toBeDefined();
});

it('names the reason of a failed start', async () => {
  show([
    makeCluster({
      state: 'failed',
      may: ['remove'],
      summary: {
        code: 'node_failed',
        values: {},
        text: 'x did not start: no torch'
      },
      reason: {
        code: 'node_failed',
        message: 'no torch',
        hint: 'Install it.',
        host: null,
        since_s: null,
        expected_start_at: null,
        ahead: null,
        alternatives: [],
        final: true
      }
    })
  ]);
  await text('x did not start: no torch');
  await text('Install it.');
  expect(button('Copy report')).toBeDefined();
});

it('offers nothing to those who may only watch', async () => {
  const { site } = show([makeCluster({ may: [] })]);
  site.testFacts = { ...SITE, may_write: false };
  site.changed.emit();
  await text('You can watch this cluster.');
  expect(button('+ Start')).toBeUndefined();
  expect(panel.node.querySelector('.jp-DtrainUi-actions')).toBeNull();
});

it('leaves out buttons whose commands are disabled', async () => {
  const job = {
    id: 'j',
    name: 'train',
    state: 'cancelled',
    summary: { code: 'job_cancelled', values: {}, text: '' },
    created_at: 1,
    started_at: null,
    ended_at: 2,
    sweep: null,
    parent: null,
    progress: [],
    ranks: [],
    may: []
  } as unknown as Job;
  const words = (): string[] =>
    [...panel.node.querySelectorAll('button')].map(b => b.textContent!.trim());
  const all = [
    'Start',
    'Submit',
    'Restart rank 1',
    'Open ranks view',
    'All jobs'
  ];
  const cluster = makeCluster({
    ranks: [makeRank(0), makeRank(1, { state: 'lost' })],
    state: 'degraded'
  });
  for (const isThere of [true, false]) {
    const { model } = show([cluster], () => isThere);
    model.receive({ ...makeFrame([cluster]), jobs: [job] });
    await text('train');
    for (const name of all) {
      expect([name, words().includes(name)]).toEqual([name, isThere]);
    }
    const row =
      panel.node.querySelector<HTMLButtonElement>('.jp-DtrainJob-item')!;
    expect(row.disabled).toBe(!isThere);
    if (isThere) {
      panel.dispose();
    }
  }
  panel.dispose();
  show([], () => false);
  await text('No cluster is running.');
  expect(button('Start 2 ranks here')).toBeUndefined();
  expect(button('Insert')).toBeUndefined();
});

it('reads profiles again when it is shown, their section opened, or the page seen again', async () => {
  const { site } = show([]);
  await text('No cluster is running.');
  await vi.waitFor(() => expect(site.reads).toBe(1));
  panel.node
    .querySelectorAll<HTMLButtonElement>('h2 button')
    .forEach(b => b.textContent?.startsWith('Profiles') && b.click());
  await vi.waitFor(() => expect(site.reads).toBe(2));
  document.dispatchEvent(new Event('visibilitychange'));
  expect(site.reads).toBe(3);
  window.dispatchEvent(new Event('focus'));
  expect(site.reads).toBe(4);
  panel.hide();
  await vi.waitFor(() => expect(panel.node.textContent).toBe(''));
  window.dispatchEvent(new Event('focus'));
  expect(site.reads).toBe(4);
  panel.show();
  await vi.waitFor(() => expect(site.reads).toBe(5));
});
