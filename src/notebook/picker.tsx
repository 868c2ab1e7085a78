import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import { NotebookPanel } from '@jupyterlab/notebook';
import {
  ITranslator,
  nullTranslator,
  TranslationBundle
} from '@jupyterlab/translation';
import { MenuSvg, ReactWidget } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { attachedTo, clusterOf } from '../cluster/model/notebookCluster';
import { CommandIDs } from '../commands';
import { IKernelRecords, ILiveState } from '../tokens';
import { Glyph } from '../ui/icons/glyph';
import { distributedIcon } from '../ui/icons/icons';
import { compactItem } from './compactToolbar';
import { clusterItem, pickedOf, withoutNotebook } from './texts';
import { disposeWhenClosed } from '../ui/menu';
import { tellBriefly } from '../ui/text/toast';

/** The cluster picker in the notebook's toolbar. */
export const pickerPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:picker',
  description: "Chooses the notebook's cluster in its toolbar.",
  autoStart: true,
  requires: [ILiveState, IKernelRecords, IToolbarWidgetRegistry],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    records: IKernelRecords,
    registry: IToolbarWidgetRegistry,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    registry.addFactory<NotebookPanel>('Notebook', 'dtrain-cluster', panel => {
      const picker = new Picker(panel, model, records, app.commands, trans);
      compactItem(panel, 'dtrain-cluster', picker);
      return picker;
    });
  }
};

class Picker extends ReactWidget {
  constructor(
    private _panel: NotebookPanel,
    private _model: ILiveState,
    private _records: IKernelRecords,
    private _commands: CommandRegistry,
    private _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-DtrainNotebook-picker');
    _model.changed.connect(this._changed, this);
    _records.changed.connect(this._changed, this);
  }

  override dispose(): void {
    this._model.changed.disconnect(this._changed, this);
    this._records.changed.disconnect(this._changed, this);
    super.dispose();
  }

  protected render(): JSX.Element {
    const trans = this._trans;
    const path = this._records.kernelPath(this._panel);
    const { clusters } = this._model;
    const last = this._records.lastCluster(this._panel);
    const cluster = clusterOf(clusters, this._panel, this._records);
    const { text, glyph, word, why } = pickedOf(
      cluster,
      this._model.link,
      trans
    );
    return (
      <button
        type="button"
        aria-haspopup="menu"
        aria-disabled={why ? true : undefined}
        title={
          why ??
          (cluster
            ? attachedTo(clusters, path, last)
              ? trans.__('Cluster of this notebook: %1', cluster.name)
              : trans.__(
                  'Cells of this notebook with %2 run on %1',
                  cluster.name,
                  '%%distributed'
                )
            : trans.__('This notebook has no cluster'))
        }
        onClick={event => {
          if (why) {
            tellBriefly(why, 'info');
          } else {
            this._open(event.currentTarget);
          }
        }}
      >
        {glyph ? (
          <Glyph kind={glyph} label={word} />
        ) : (
          <distributedIcon.react
            tag="span"
            className="jp-DtrainNotebook-none"
          />
        )}
        <span className="jp-DtrainNotebook-name">{text}</span>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M4 6l4 4 4-4" />
        </svg>
      </button>
    );
  }

  private _open(button: HTMLElement): void {
    const menu = new MenuSvg({ commands: this._commands });
    const { clusters } = this._model;
    const path = this._records.kernelPath(this._panel);
    const own = attachedTo(
      clusters,
      path,
      this._records.lastCluster(this._panel)
    );
    for (const cluster of clusters) {
      menu.addItem({
        command: CommandIDs.attachNotebook,
        args: {
          id: cluster.id,
          name: cluster.name,
          label: clusterItem(
            cluster === own ? cluster : withoutNotebook(cluster, path),
            this._records,
            this._trans
          )
        }
      });
    }
    if (clusters.length) {
      menu.addItem({ type: 'separator' });
    }
    menu.addItem({ command: CommandIDs.startCluster, args: { ask: true } });
    if (this._commands.hasCommand(CommandIDs.showPanel)) {
      menu.addItem({ command: CommandIDs.showPanel });
    }
    disposeWhenClosed(menu);
    const at = button.getBoundingClientRect();
    menu.open(at.left, at.bottom);
  }

  private _changed(): void {
    this.update();
  }
}
