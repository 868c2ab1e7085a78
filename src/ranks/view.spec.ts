import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { DisposableDelegate } from '@lumino/disposable';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { afterEach, expect, it, vi } from 'vitest';

import { CommandIDs } from '../commands';
import { LiveState } from '../cluster/model/liveState';
import { AdviceState } from '../cluster/model/adviceState';
import { ServerSite } from '../cluster/model/site';
import { Selection } from '../cluster/model/selection';
import { KernelRecords } from '../locations/kernelRecords';
import { makeCluster, makeFrame, makeRank } from '../testing/clusters';
import { formatClock } from '../metrics/format';
import { makeLiveState } from '../testing/liveState';
import { IEnding, readEnding } from './model/ending';
import { RanksView } from './view';

vi.mock('./charts/chart', () => ({ TimeChart: () => null }));

/** Live state that requests no frames. */
function makeModel(): LiveState {
  const model = makeLiveState();
  const watching = new DisposableDelegate(() => undefined);
  vi.spyOn(model, 'watch').mockReturnValue(watching);
  return model;
}

let view: RanksView;

afterEach(() => view.dispose());

function show(model: LiveState, ended: IEnding | null = null): Selection {
  const commands = new CommandRegistry();
  for (const id of Object.values(CommandIDs)) {
    commands.addCommand(id, { execute: () => undefined });
  }
  const selection = new Selection(model);
  const trans = nullTranslator.load('x');
  const name = 'local-2';
  view = new RanksView({
    id: 'c1',
    name,
    ended,
    model,
    site: new ServerSite(ServerConnection.makeSettings()),
    selection,
    adviceState: new AdviceState(),
    records: new KernelRecords(),
    commands,
    trans
  });
  Widget.attach(view, document.body);
  return selection;
}

async function drawn(part: string): Promise<void> {
  await vi.waitFor(() => {
    MessageLoop.flush();
    expect(view.node.textContent).toContain(part);
  });
}

async function leaveAndComeBack(): Promise<void> {
  view.hide();
  await vi.waitFor(() => {
    MessageLoop.flush();
    expect(view.node.textContent).toBe('');
  });
  view.show();
}

it('is as it was left when its tab is in front again, also of a cluster that is gone', async () => {
  const model = makeModel();
  show(model);
  const clusters = [makeCluster()];
  model.receive(makeFrame(clusters));
  await drawn('local-2');
  const select = (): HTMLSelectElement =>
    view.node.querySelector('[aria-label="Time window"]')!;
  select().value = '15';
  select().dispatchEvent(new Event('change', { bubbles: true }));
  await leaveAndComeBack();
  await drawn('local-2');
  expect(select().value).toBe('15');
  const ranks = [0, 1].map(r => makeRank(r, { state: 'starting' }));
  const ends = [makeCluster({ state: 'stopping', ranks })];
  model.receive(makeFrame(ends));
  model.receive(makeFrame([]));
  await drawn('Cluster local-2 has ended. These values are from ');
  await leaveAndComeBack();
  await drawn('Cluster local-2 has ended. These values are from ');
  expect(view.node.querySelectorAll('[data-square]')).toHaveLength(2);
  expect(view.node.textContent).toContain('idle 2');
});

it('has the metrics of a cluster that ended while it was in the background, up to the end', async () => {
  const model = makeModel();
  show(model);
  view.hide();
  const ranks = [0, 1].map(r => makeRank(r, { state: 'busy' }));
  model.receive(makeFrame([makeCluster({ ranks })]));
  const starts = ranks.map(r => makeRank(r.rank, { state: 'starting' }));
  model.receive(makeFrame([makeCluster({ state: 'stopping', ranks: starts })]));
  model.receive(makeFrame([]));
  view.show();
  await drawn('Cluster local-2 has ended. These values are from ');
  expect(view.node.textContent).toContain('busy 2');
  expect(view.node.textContent).toContain('At its end, by node');
});

it('says in the past what the ranks of a cluster did whose head was killed', async () => {
  const model = makeModel();
  show(model);
  const clock = vi.spyOn(Date, 'now').mockReturnValue(1_000_000);
  const ranks = [0, 1].map(r => makeRank(r, { state: 'busy' }));
  const running = [
    {
      cell: '[15]',
      cell_id: null,
      detached: false,
      kind: 'cell' as const,
      notebook: null,
      ranks: [0, 1],
      started_at: 997
    }
  ];
  const values = { cell: '[15]', count: 2 };
  const summary = { code: 'running', values, text: 'Running.' };
  model.receive(makeFrame([makeCluster({ ranks, running, summary })]));
  const head = (): Element =>
    view.node.querySelector('.jp-DtrainCluster-head')!;
  const glyph = (): string | null =>
    head().querySelector('.jp-DtrainUi-glyph')!.getAttribute('data-kind');
  await drawn('running for');
  expect(glyph()).toBe('busy');
  clock.mockReturnValue(1_060_000);
  model.receive(makeFrame([]));
  await drawn('Cluster local-2 has ended. These values are from ');
  const said = view.node.textContent.replace(/\s/g, ' ');
  // as in the panel, and what was so when the page last heard of it
  expect(head().textContent).toMatch(/^stoppedEnded\./);
  expect(said).toMatch(/At .*: Running cell \[15\] on 2 ranks\./);
  expect(glyph()).toBe('stopped');
  const over = view.node.querySelector('.jp-DtrainRanks-ranks')!;
  expect(over.getAttribute('data-over')).toBe('true');
  clock.mockRestore();
});

it('says nothing as of now while there is no connection to the server', async () => {
  const model = makeModel();
  show(model);
  const ranks = [0, 1].map(r => makeRank(r));
  model.receive(makeFrame([makeCluster({ ranks })]));
  await drawn('Now, by node and device');
  vi.spyOn(model, 'link', 'get').mockReturnValue('lost');
  model.changed.emit();
  await drawn('No connection to the server. These values are from ');
  const head = view.node.querySelector('.jp-DtrainCluster-head')!;
  expect(head.textContent.replace(/\s/g, ' ')).toMatch(
    /^no connectionAt .*: Ready\./
  );
  const said = view.node.textContent;
  expect(said).toContain('When last heard of, by node and device');
  expect(said).not.toMatch(/\bnow\b/i);
});

it('gives no advice on a cluster that has ended', async () => {
  const model = makeModel();
  show(model);
  const cluster = makeCluster();
  const advised = {
    ...cluster,
    metrics: {
      ...cluster.metrics,
      current: false,
      no_advice: 'Advice would be a guess.'
    }
  };
  model.receive(makeFrame([advised]));
  await drawn('Advice would be a guess.');
  model.receive(makeFrame([]));
  await drawn('Cluster local-2 has ended. These values are from ');
  expect(view.node.textContent).not.toContain('Advice');
});

it('shows the ranks that a filter is for above the charts, and counts them', async () => {
  const model = makeModel();
  show(model);
  const ranks = Array.from({ length: 8 }, (_, i) => makeRank(i));
  model.receive(makeFrame([makeCluster({ ranks })]));
  await drawn('8 ranks ·');
  const isAbove = (): boolean => {
    const charts = view.node.querySelector('.jp-DtrainUi-charts')!;
    const maps = view.node.querySelector('.jp-DtrainRanks-maps')!;
    return !!(
      charts.compareDocumentPosition(maps) & Node.DOCUMENT_POSITION_PRECEDING
    );
  };
  expect(isAbove()).toBe(false);
  const input = view.node.querySelector<HTMLInputElement>(
    '[aria-label="Filter ranks"]'
  )!;
  const set = Object.getOwnPropertyDescriptor(
    HTMLInputElement.prototype,
    'value'
  )!.set!;
  set.call(input, '0-2');
  input.dispatchEvent(new Event('input', { bubbles: true }));
  await drawn('3 of 8 ranks');
  expect(isAbove()).toBe(true);
  expect(view.node.querySelectorAll('[data-square]')).toHaveLength(3);
});

it('shows the time at which it was paused, and the latest state once it goes on', async () => {
  const model = makeModel();
  show(model);
  const receive = (state: 'busy' | 'idle'): void =>
    model.receive(
      makeFrame([
        makeCluster({ ranks: [0, 1].map(r => makeRank(r, { state })) })
      ])
    );
  const pause = (): void =>
    view.node.querySelector<HTMLElement>('[aria-label="Pause"]')!.click();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(1_000_000);
  receive('busy');
  await drawn('busy 2');
  pause();
  await vi.waitFor(() =>
    expect(
      view.node.querySelector('[aria-label="Pause"][aria-pressed="true"]')
    ).not.toBeNull()
  );
  clock.mockReturnValue(1_002_000);
  receive('idle');
  expect(model.at).toBe(1_002_000);
  await leaveAndComeBack();
  await drawn('busy 2');
  model.receive(makeFrame([]));
  await drawn('Cluster local-2 has ended. These values are from ');
  expect(view.node.textContent).toContain('busy 2');
  pause();
  await drawn('idle 2');
  clock.mockRestore();
});

it('says on its tab when its cluster has ended: a new one may have the same name, and end, too', () => {
  const model = makeModel();
  show(model);
  expect(view.title.label).toBe('Ranks: local-2'); // the server has not answered yet
  model.receive(makeFrame([makeCluster()]));
  expect(view.title.label).toBe('Ranks: local-2');
  const at = new Date(2026, 0, 5, 4, 12).getTime();
  const values = { by: 'server', at: at / 1000 };
  const ended = { c1: { code: 'stopping', values, text: 'Stopped.' } };
  model.receive(makeFrame([makeCluster({ id: 'c2' })], { ended }));
  expect(view.title.label).toBe(`Ranks: local-2 (ended ${formatClock(at)})`);
});

it('says why and when its cluster has ended after the page was loaded anew, and offers to start it again', async () => {
  const before = makeModel();
  show(before);
  before.receive(makeFrame([makeCluster()]));
  const at = new Date(2026, 0, 5, 4, 12).getTime();
  const values = { by: 'terminal', at: at / 1000 };
  const ended = { c1: { code: 'stopping', values, text: 'Stopped.' } };
  before.receive(makeFrame([], { ended }));
  await drawn('Stopped from a terminal at');
  const kept = readEnding(JSON.parse(JSON.stringify(view.args.ended)));
  const { label } = view.title;
  view.dispose();

  const model = makeModel();
  show(model, kept);
  await drawn('Stopped from a terminal at');
  expect(view.title.label).toBe(label);
  await drawn(
    'Cluster local-2 has ended. The values of its ranks are not kept'
  );
  const buttons = (): string[] =>
    [...view.node.querySelectorAll('button')].map(b => b.textContent);
  expect(buttons()).toEqual(['Start again']);
  // it would be refused while another one has the name
  model.receive(makeFrame([makeCluster({ id: 'c2' })]));
  await vi.waitFor(() => {
    MessageLoop.flush();
    expect(buttons()).toEqual([]);
  });
  await drawn('Stopped from a terminal at');
});

it('does not say that a cluster has ended before the server has answered', async () => {
  const model = makeModel();
  show(model);
  MessageLoop.flush();
  expect(view.node.textContent).toBe('');
  model.receive(makeFrame([]));
  await drawn('Cluster local-2 has ended.');
  expect(view.args.ended).toEqual({ at: null, cluster: null });
  expect(readEnding(view.args.ended)).toBeNull();
});
