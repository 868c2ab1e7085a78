import { nullTranslator } from '@jupyterlab/translation';
import { ServerConnection } from '@jupyterlab/services';
import { CommandRegistry } from '@lumino/commands';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { afterEach, expect, it, vi } from 'vitest';

import { CommandIDs } from '../commands';
import { makeCluster, makeFrame, makeRank } from '../testing/clusters';
import { Cluster, Link, Site } from '../tokens';
import { LiveState } from '../cluster/model/liveState';
import { AdviceState } from '../cluster/model/adviceState';
import { Preferences } from '../cluster/model/preferences';
import { ServerSite } from '../cluster/model/site';
import { Selection } from '../cluster/model/selection';
import { DistributedPanel } from './panel';

const SITE: Site = {
  node: 'box',
  cpus: 2,
  gpus: 0,
  memory_bytes: 1,
  default_ranks: 2,
  most_ranks: 64,
  local: true,
  may_write: true,
  troubles: []
};

class TestModel extends LiveState {
  shown: boolean[] = [];

  constructor(site: ServerSite) {
    super(ServerConnection.makeSettings(), new Preferences(), site, null);
  }

  override get link(): Link {
    return this.testLink ?? super.link;
  }

  override setVisible(visible: boolean): void {
    this.shown.push(visible);
  }

  testLink: Link | null = null;
}

class TestSite extends ServerSite {
  override get facts(): Site | null {
    return this.testFacts;
  }

  testFacts: Site | null = SITE;
}

let panel: DistributedPanel;

function show(clusters: Cluster[]): {
  model: TestModel;
  site: TestSite;
  ran: [string, unknown][];
} {
  const site = new TestSite(ServerConnection.makeSettings());
  const model = new TestModel(site);
  const commands = new CommandRegistry();
  const ran: [string, unknown][] = [];
  for (const id of Object.values(CommandIDs)) {
    commands.addCommand(id, { execute: args => void ran.push([id, args]) });
  }
  const selection = new Selection(model);
  panel = new DistributedPanel({
    model,
    site,
    selection,
    adviceState: new AdviceState(),
    sweeps: null,
    commands,
    trans: nullTranslator.load('x')
  });
  Widget.attach(panel, document.body);
  MessageLoop.flush();
  model.receive(makeFrame(clusters));
  return { model, site, ran };
}

async function text(part: string): Promise<void> {
  await vi.waitFor(() => expect(panel.node.textContent).toContain(part));
}

function button(name: string): HTMLButtonElement {
  return [...panel.node.querySelectorAll('button')].find(
    b => b.textContent?.trim() === name
  )!;
}

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

it('moves through ranks with the arrow keys and opens one with Enter', async () => {
  show([makeCluster()]);
  await text('Ready.');
  const row = (): HTMLElement => panel.node.querySelector('[data-rank="0"]')!;
  row().focus();
  row().dispatchEvent(
    new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true })
  );
  expect(document.activeElement?.getAttribute('data-rank')).toBe('1');
  document.activeElement!.dispatchEvent(
    new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })
  );
  await text('Process');
  expect(panel.node.textContent).toContain('1001');
});

it('has one row a node with a square a rank above 16 ranks', async () => {
  const ranks = Array.from({ length: 64 }, (_, i) =>
    makeRank(i, { node: `gpu-${i >> 3}`, state: i === 9 ? 'lost' : 'busy' })
  );
  show([makeCluster({ ranks })]);
  await text('gpu-7');
  expect(panel.node.querySelectorAll('.jp-DtrainRanks-node')).toHaveLength(8);
  expect(panel.node.querySelectorAll('[data-state=lost]')).toHaveLength(1);
  await text('7 of 8');
});

it('offers nothing to those who may only watch', async () => {
  const { site } = show([makeCluster({ may: [] })]);
  site.testFacts = { ...SITE, may_write: false };
  site.changed.emit();
  await text('You can watch this cluster.');
  expect(button('+ Start')).toBeUndefined();
  expect(panel.node.querySelector('.jp-DtrainUi-actions')).toBeNull();
});

it('asks for frames only while it is seen', () => {
  const { model } = show([]);
  panel.hide();
  panel.show();
  MessageLoop.flush();
  expect(model.shown).toEqual([true, false, true]);
});

it('keeps what was folded and opened while it is hidden', async () => {
  show([makeCluster()]);
  await text('Rank');
  const part = (name: string): HTMLElement =>
    panel.node.querySelector<HTMLElement>(name)!;
  const title = (): HTMLElement =>
    [...panel.node.querySelectorAll('h2 button')].find(b =>
      b.textContent?.includes('Profiles')
    ) as HTMLElement;
  title().click();
  part('[data-rank="1"]').click();
  await vi.waitFor(() =>
    expect(part('[data-rank="1"]').getAttribute('aria-expanded')).toBe('true')
  );
  panel.hide();
  await vi.waitFor(() => {
    MessageLoop.flush();
    expect(panel.node.textContent).toBe('');
  });
  panel.show();
  MessageLoop.flush();
  await text('Profiles');
  expect(title().getAttribute('aria-expanded')).toBe('true');
  expect(part('[data-rank="1"]').getAttribute('aria-expanded')).toBe('true');
});

it('is focused at the selected cluster, also where it is scrolled out of view', async () => {
  show([
    makeCluster({ id: 'a', name: 'one' }),
    makeCluster({ id: 'b', name: 'two' })
  ]);
  await text('two');
  const rows = [
    ...panel.node.querySelectorAll<HTMLElement>('.jp-DtrainUi-listItem')
  ];
  const chosen = rows.find(r => r.getAttribute('aria-pressed') === 'true')!;
  const box = (top: number): DOMRect =>
    ({ top, bottom: top + 20, height: 20 }) as DOMRect;
  const body = panel.node.querySelector<HTMLElement>('.jp-DtrainSidebar-body')!;
  body.getBoundingClientRect = () =>
    ({ top: 0, bottom: 100, height: 100 }) as DOMRect;
  rows.forEach(row => {
    row.getBoundingClientRect = () => box(row === chosen ? -50 : 10);
  });
  panel.activate();
  MessageLoop.flush();
  await vi.waitFor(() => expect(document.activeElement).toBe(chosen));
});
