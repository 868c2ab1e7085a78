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
import { Signal } from '@lumino/signaling';
import React from 'react';

import {
  kernelPath,
  kernelUseChanged,
  lastCluster
} from '../locations/kernelPath';
import { CommandIDs } from '../commands';
import { countActive } from '../job/model/texts';
import { request } from '../request/rest';
import { Cluster, ILiveState, ISelection, Job } from '../tokens';
import { Glyph } from '../ui/icons/glyph';
import { sentence } from '../verdicts/sentence';
import { markTab } from './tabDot';
import { ISubject, jobsText, statusOf, subjectOf } from './texts';

/** Polling interval while nothing runs, ms. */
const LOOK_EVERY = 10_000;

/** The status bar's item: state of the notebook's cluster. */
export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:status',
  description: 'How the cluster stands, in the status bar.',
  autoStart: true,
  requires: [ILiveState, ISelection],
  optional: [IStatusBar, INotebookTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    selection: ISelection,
    bar: IStatusBar | null,
    tracker: INotebookTracker | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const subject = (): ISubject => {
      const panel = tracker?.currentWidget;
      const path = panel ? kernelPath(panel) : null;
      const last = panel ? lastCluster(panel) : null;
      return subjectOf(model.clusters, path, selection.cluster, last);
    };
    markTab(app.shell, model, trans);
    const item = new StatusItem(model, app.commands, trans, subject);
    // before the first poll it is unknown whether there is a cluster
    let looked = false;
    const firstLook = new Signal<StatusItem, void>(item);
    const seen = (): void => {
      if (!looked) {
        looked = true;
        firstLook.emit();
      }
    };
    bar?.registerStatusItem('dtrain-lab:status', {
      item,
      align: 'middle',
      rank: 50,
      isActive: () => looked,
      activeStateChanged: firstLook
    });
    tracker?.currentChanged.connect(() => item.update());
    selection.changed.connect(() => item.update());
    kernelUseChanged.connect(() => item.update());
    const { serverSettings } = app.serviceManager;
    const poll = new Poll({
      name: 'dtrain-lab:status',
      factory: async () => {
        await look(model, serverSettings);
        seen();
      },
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
      if (model.lastFrameAt) {
        seen();
      }
      // nothing is left: the poll is sufficient from now on
      const idle = !model.clusters.length && !countActive(model.jobs);
      if (idle && model.lastFrameAt) {
        model.setVisible(false, item.id);
      }
    });
    item.disposed.connect(() => poll.dispose());
  }
};

/** Watch clusters and jobs as soon as there is one. */
async function look(
  model: ILiveState,
  settings: ServerConnection.ISettings
): Promise<void> {
  const known = model.clusters.length || countActive(model.jobs);
  if (known || (await anything(settings))) {
    model.setVisible(true, 'dtrain-lab-status');
  }
}

/** Whether there is a cluster, or a job that has not ended. */
async function anything(
  settings: ServerConnection.ISettings
): Promise<boolean> {
  const clusters = await request<Cluster[]>(settings, 'GET', 'clusters');
  return (
    clusters.length > 0 ||
    countActive(await request<Job[]>(settings, 'GET', 'jobs')) > 0
  );
}

class StatusItem extends ReactWidget {
  constructor(
    private _model: ILiveState,
    private _commands: CommandRegistry,
    private _trans: TranslationBundle,
    private _subject: () => ISubject
  ) {
    super();
    this.id = 'dtrain-lab-status';
    this.addClass('jp-DtrainStatus');
    this._model.changed.connect(this._changed, this);
  }

  private _changed(): void {
    this.update();
  }

  protected render(): JSX.Element {
    const { cluster, others } = this._subject();
    const trans = this._trans;
    const { text, short, glyph, word, needsAttention } = statusOf(
      cluster,
      this._model.link,
      trans,
      others
    );
    const known = cluster !== null && this._model.link !== 'lost';
    const show = trans.__('Show the Distributed panel');
    const says = known
      ? sentence(cluster, trans)
      : others
        ? trans.__('The current notebook uses no cluster.')
        : '';
    const jobs =
      this._model.link !== 'lost' &&
      this._commands.hasCommand(CommandIDs.showJobs) &&
      jobsText(this._model.jobs, trans);
    return (
      <>
        <button
          type="button"
          data-attention={needsAttention || undefined}
          title={says ? `${says} ${show}` : show}
          onClick={() => void this._commands.execute(CommandIDs.showPanel)}
        >
          <Glyph kind={glyph} label={word} />
          <span>
            {short}
            <span className="jp-DtrainStatus-more">
              {text.slice(short.length)}
            </span>
          </span>
        </button>
        {jobs && (
          <button
            type="button"
            className="jp-DtrainStatus-jobs"
            title={trans.__('Show the jobs')}
            onClick={() => void this._commands.execute(CommandIDs.showJobs)}
          >
            {jobs}
          </button>
        )}
      </>
    );
  }
}
