import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStatusBar } from '@jupyterlab/statusbar';
import {
  ITranslator,
  nullTranslator,
  TranslationBundle
} from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { ISignal, Signal } from '@lumino/signaling';
import React from 'react';

import { CommandIDs, showPanel } from '../commands';
import { jobInView } from '../locations/visibility';
import {
  IKernelRecords,
  ILiveState,
  ISelection,
  ISweeps,
  Job,
  Sweep
} from '../tokens';
import { Glyph } from '../ui/icons/glyph';
import { sentence } from '../verdicts/sentence';
import { markTab } from './tabDot';
import { FailedJobs, failedText, IFailedJobs } from './failedJobs';
import { clusterOf } from '../cluster/model/notebookCluster';
import { ISubject, jobsText, statusOf, stuckJobs, subjectOf } from './texts';

/** The status bar's item: state of the notebook's cluster. */
export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:status',
  description: 'How the cluster stands, in the status bar.',
  autoStart: true,
  requires: [ILiveState, ISelection, IKernelRecords],
  optional: [IStatusBar, INotebookTracker, ITranslator, ISweeps],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    selection: ISelection,
    records: IKernelRecords,
    bar: IStatusBar | null,
    tracker: INotebookTracker | null,
    translator: ITranslator | null,
    sweeps: ISweeps | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const subject = (): ISubject => {
      const panel = tracker?.currentWidget;
      const own = panel && clusterOf(model.clusters, panel, records);
      return subjectOf(
        model.clusters,
        panel ? own : undefined,
        selection.cluster
      );
    };
    markTab(app.shell, model, trans);
    const failed = new FailedJobs(model, id => jobInView(app.shell, id));
    const look = (): void => failed.look();
    app.shell.currentChanged?.connect(look);
    const item = new StatusItem(
      model,
      app.commands,
      trans,
      subject,
      [
        model.changed,
        selection.changed,
        records.changed,
        failed.changed,
        ...(tracker ? [tracker.currentChanged] : []),
        ...(sweeps ? [sweeps.seen] : [])
      ],
      () => sweeps?.stopping ?? [],
      () => failed.jobs
    );
    // before the server has answered it is unknown whether there is a cluster
    let isKnown = model.isKnown;
    const becameKnown = new Signal<StatusItem, void>(item);
    const follow = (): void => {
      if (model.isKnown && !isKnown) {
        isKnown = true;
        becameKnown.emit();
      }
    };
    model.changed.connect(follow);
    item.disposed.connect(() => {
      model.changed.disconnect(follow);
      app.shell.currentChanged?.disconnect(look);
      failed.dispose();
    });
    bar?.registerStatusItem('dtrain-lab:status', {
      item,
      align: 'middle',
      rank: 50,
      isActive: () => model.isKnown,
      activeStateChanged: becameKnown
    });
  }
};

class StatusItem extends ReactWidget {
  constructor(
    private _model: ILiveState,
    private _commands: CommandRegistry,
    private _trans: TranslationBundle,
    private _subject: () => ISubject,
    private _signals: readonly ISignal<unknown, unknown>[],
    /** Sweeps that are being stopped. */
    private _stopping: () => readonly Sweep[],
    /** Jobs that have failed, until the user has looked at them. */
    private _failed: () => readonly Job[]
  ) {
    super();
    this.id = 'dtrain-lab-status';
    this.addClass('jp-DtrainStatus');
    _signals.forEach(signal => signal.connect(this._changed, this));
  }

  override dispose(): void {
    this._signals.forEach(s => s.disconnect(this._changed, this));
    super.dispose();
  }

  private _changed(): void {
    this.update();
  }

  /** Open the job, or the list where there are several. */
  private _open({ job }: IFailedJobs): void {
    void (job
      ? this._commands.execute(CommandIDs.openJob, {
          id: job.id,
          name: job.name
        })
      : this._commands.execute(CommandIDs.showJobs));
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
    const current = cluster !== null && this._model.link !== 'lost';
    const shows = this._commands.hasCommand(CommandIDs.showPanel);
    const show = shows
      ? trans.__('Show the Distributed panel')
      : trans.__('The Distributed panel is not available here.');
    const says = current
      ? sentence(cluster, trans)
      : others
        ? trans.__('The current notebook uses no cluster.')
        : '';
    // in full: the bar may have too little room for it
    const full = word ? trans.__('%1, %2', text, word) : text;
    const lists =
      this._model.link !== 'lost' &&
      this._commands.hasCommand(CommandIDs.showJobs);
    const jobs = lists && jobsText(this._model, trans, this._stopping());
    const stuck = jobs ? stuckJobs(this._model.jobs, trans) : null;
    const failed = lists ? failedText(this._failed(), trans) : null;
    return (
      <>
        <button
          type="button"
          data-attention={needsAttention || undefined}
          aria-label={full}
          aria-disabled={!shows || undefined}
          title={[text, says, show].filter(Boolean).join('\n')}
          onClick={() => void showPanel(this._commands)}
        >
          <Glyph kind={glyph} label={word} />
          {text.startsWith(short) ? (
            <span>
              {short}
              <span className="jp-DtrainStatus-more">
                {text.slice(short.length)}
              </span>
            </span>
          ) : (
            <span>
              <span className="jp-DtrainStatus-more">{text}</span>
              <span className="jp-DtrainStatus-brief">{short}</span>
            </span>
          )}
        </button>
        {stuck && (
          <button
            type="button"
            data-attention
            title={[stuck.text, trans.__('Show the job')].join('\n')}
            onClick={() => this._open(stuck)}
          >
            <Glyph kind="stuck" label="" />
            <span>{stuck.text}</span>
          </button>
        )}
        {failed && (
          <button
            type="button"
            className="jp-DtrainStatus-failed"
            title={[
              failed.text,
              failed.job?.summary.text,
              failed.job ? trans.__('Show the job') : trans.__('Show the jobs')
            ]
              .filter(Boolean)
              .join('\n')}
            onClick={() => this._open(failed)}
          >
            <Glyph kind="failed" label="" />
            <span>{failed.text}</span>
          </button>
        )}
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
