import { nullTranslator } from '@jupyterlab/translation';
import { ServerConnection } from '@jupyterlab/services';
import { DisposableDelegate, IDisposable } from '@lumino/disposable';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { expect, vi } from 'vitest';

import { KernelRecords } from '../locations/kernelRecords';
import { makeFrame } from './clusters';
import { makeCommands } from './commands';
import { Cluster, Link, Site } from '../tokens';
import { LiveState } from '../cluster/model/liveState';
import { AdviceState } from '../cluster/model/adviceState';
import { Preferences } from '../preferences/preferences';
import { ServerSite } from '../cluster/model/site';
import { Selection } from '../cluster/model/selection';
import { DistributedPanel } from '../sidebar/panel';

/** What the server says of its machine. */
export const SITE: Site = {
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

  override watch(): IDisposable {
    this.shown.push(true);
    return new DisposableDelegate(() => void this.shown.push(false));
  }

  testLink: Link | null = null;
}

class TestSite extends ServerSite {
  override get facts(): Site | null {
    return this.testFacts;
  }

  override async readProfiles(): Promise<void> {
    this.reads += 1;
  }

  testFacts: Site | null = SITE;
  /** How often profiles were read again. */
  reads = 0;
}

/** The panel that was shown last. */
export let panel: DistributedPanel;

/**
 * Show the panel with these clusters.
 *
 * @param has - whether there is a command: the plugins of others are disabled
 */
export function show(
  clusters: Cluster[],
  has: (command: string) => boolean = () => true
): {
  model: TestModel;
  site: TestSite;
  ran: [string, unknown][];
} {
  const site = new TestSite(ServerConnection.makeSettings());
  const model = new TestModel(site);
  const ran: [string, unknown][] = [];
  const commands = makeCommands((...run) => void ran.push(run), has);
  const selection = new Selection(model);
  panel = new DistributedPanel({
    model,
    site,
    selection,
    adviceState: new AdviceState(),
    records: new KernelRecords(),
    sweeps: null,
    commands,
    trans: nullTranslator.load('x')
  });
  Widget.attach(panel, document.body);
  MessageLoop.flush();
  model.receive(makeFrame(clusters));
  return { model, site, ran };
}

/** Wait until the panel has this text. */
export async function text(part: string): Promise<void> {
  await vi.waitFor(() => expect(panel.node.textContent).toContain(part));
}

/** The panel's button with this text. */
export function button(name: string): HTMLButtonElement {
  return [...panel.node.querySelectorAll('button')].find(
    b => b.textContent?.trim() === name
  )!;
}
