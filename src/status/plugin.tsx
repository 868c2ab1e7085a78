import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';
import { IStatusBar } from '@jupyterlab/statusbar';
import {
  ITranslator,
  nullTranslator,
  TranslationBundle
} from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { Poll } from '@lumino/polling';
import React from 'react';

import { attachedTo } from '../cluster/attached';
import { CommandIDs } from '../commands';
import { request } from '../request/rest';
import { Cluster, IClusters } from '../tokens';
import { formatRate, formatShare } from '../ui/format';
import { Glyph } from '../ui/glyph';
import { clusterGlyph, isTrouble, sentence, stateWord } from '../ui/sentence';

/** While nothing runs, the server is asked this often whether something does, ms. */
const LOOK_EVERY = 10_000;

/** The status bar's item: how the notebook's cluster stands. */
export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:status',
  description: 'How the cluster stands, in the status bar.',
  autoStart: true,
  requires: [IClusters, IStatusBar],
  optional: [INotebookTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IClusters,
    bar: IStatusBar,
    tracker: INotebookTracker | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const shown = (): Cluster | null => {
      const path = tracker?.currentWidget?.context.path;
      const own = path ? attachedTo(model.clusters, path) : null;
      return own ?? model.clusters.find(isTrouble) ?? model.selected;
    };
    const item = new StatusItem(model, app.commands, trans, shown);
    bar.registerStatusItem('dtrain-lab:status', {
      item,
      align: 'middle',
      rank: 50,
      isActive: () => model.clusters.length > 0,
      activeStateChanged: model.changed
    });
    tracker?.currentChanged.connect(() => item.update());
    const { serverSettings } = app.serviceManager;
    const poll = new Poll({
      name: 'dtrain-lab:status',
      factory: () => look(model, serverSettings),
      frequency: { interval: LOOK_EVERY, backoff: true, max: 60_000 },
      standby: 'when-hidden'
    });
    NotebookActions.executed.connect((_, { cell }) => {
      // a cell may have started one
      if (
        !model.clusters.length &&
        /^%%?distributed/m.test(cell.model.sharedModel.getSource())
      ) {
        void poll.refresh();
      }
    });
    model.changed.connect(() => {
      // no cluster is left: from here on the poll is enough
      if (!model.clusters.length && model.seen) {
        model.setVisible(false, item.id);
      }
    });
    item.disposed.connect(() => poll.dispose());
  }
};

/** Watch clusters as soon as there is one. */
async function look(
  model: IClusters,
  settings: ServerConnection.ISettings
): Promise<void> {
  if (!model.clusters.length) {
    const found = await request<Cluster[]>(settings, 'GET', 'clusters');
    if (found.length) {
      model.setVisible(true, 'dtrain-lab-status');
    }
  } else {
    model.setVisible(true, 'dtrain-lab-status');
  }
}

class StatusItem extends ReactWidget {
  constructor(
    private _model: IClusters,
    private _commands: CommandRegistry,
    private _trans: TranslationBundle,
    private _shown: () => Cluster | null
  ) {
    super();
    this.id = 'dtrain-lab-status';
    this.addClass('jp-Dtrain-status');
    this._model.changed.connect(this._changed, this);
  }

  private _changed(): void {
    this.update();
  }

  protected render(): JSX.Element | null {
    const cluster = this._shown();
    const trans = this._trans;
    if (!cluster) {
      return null;
    }
    const trouble = isTrouble(cluster);
    const text = trouble
      ? trans.__('%1: %2', cluster.name, sentence(cluster, trans))
      : statusText(cluster, trans);
    return (
      <button
        type="button"
        data-trouble={trouble || undefined}
        title={trans.__('Show the Distributed panel')}
        onClick={() => void this._commands.execute(CommandIDs.showPanel)}
      >
        <Glyph
          kind={clusterGlyph(cluster)}
          label={stateWord(cluster.state, trans)}
        />
        <span>{text}</span>
      </button>
    );
  }
}

/** "local-4: 4 ranks · 2,140 samples/s · communication 12 %". */
export function statusText(cluster: Cluster, trans: TranslationBundle): string {
  const { samples_per_s, comm_overhead } = cluster.metrics;
  const parts = [trans._n('%1 rank', '%1 ranks', cluster.world.size)];
  if (cluster.state !== 'ready') {
    parts.push(stateWord(cluster.state, trans));
  }
  if (samples_per_s !== null) {
    parts.push(trans.__('%1 samples/s', formatRate(samples_per_s)));
  }
  if (comm_overhead !== null) {
    parts.push(trans.__('communication %1', formatShare(comm_overhead)));
  }
  return `${cluster.name}: ${parts.join(' · ')}`;
}
