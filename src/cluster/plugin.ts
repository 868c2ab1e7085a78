import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { IClusters, IPreferences } from '../tokens';
import { distributedIcon } from '../ui/icons';
import { addClusterCommands } from './actions';
import { ClustersModel } from './model';
import { announceCells, announceLimit, announceTrouble } from './notices';
import { DistributedPanel } from './panel';

/** The model of all clusters. */
export const clustersPlugin: JupyterFrontEndPlugin<IClusters> = {
  id: 'dtrain-lab:clusters',
  description: 'Provides the clusters of this user.',
  autoStart: true,
  provides: IClusters,
  activate: (app: JupyterFrontEnd): IClusters =>
    new ClustersModel(app.serviceManager.serverSettings)
};

/** The sidebar and its commands. */
export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:panel',
  description: 'The Distributed sidebar: clusters and their ranks.',
  autoStart: true,
  requires: [IClusters],
  optional: [
    ICommandPalette,
    ILauncher,
    ILayoutRestorer,
    INotebookTracker,
    ISettingRegistry,
    ITranslator
  ],
  activate: (
    app: JupyterFrontEnd,
    model: IClusters,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    restorer: ILayoutRestorer | null,
    tracker: INotebookTracker | null,
    registry: ISettingRegistry | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands, shell } = app;
    addClusterCommands(commands, model, trans);
    announceTrouble(model, trans);
    announceLimit(model, trans);
    announceCells(model, trans, path => {
      const shown = tracker?.find(panel => panel.context.path === path);
      return !document.hidden && !!shown?.isVisible;
    });
    void registry?.load(panelPlugin.id).then(settings => {
      const take = (): void => {
        const chosen = settings.composite as unknown as IPreferences;
        model.preferences = { ...model.preferences, ...chosen };
      };
      settings.changed.connect(take);
      take();
    });
    const panel = new DistributedPanel(model, commands, trans);
    shell.add(panel, 'left', { rank: 600, type: 'Distributed' });
    restorer?.add(panel, panel.id);
    commands.addCommand(CommandIDs.showPanel, {
      label: trans.__('Distributed Panel'),
      caption: trans.__('Clusters and ranks of distributed training'),
      icon: distributedIcon,
      execute: () => shell.activateById(panel.id),
      describedBy: { args: { type: 'object', properties: {} } }
    });
    for (const command of [
      CommandIDs.showPanel,
      CommandIDs.startCluster,
      CommandIDs.stopCluster,
      CommandIDs.interruptRanks,
      CommandIDs.restartRanks,
      CommandIDs.resizeCluster,
      CommandIDs.showStacks,
      CommandIDs.diagnose,
      CommandIDs.attachNotebook,
      CommandIDs.goToTrouble,
      CommandIDs.copyReport
    ]) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
    launcher?.add({
      command: CommandIDs.startCluster,
      category: trans.__('Distributed'),
      args: { ask: true, launcher: true }
    });
  }
};
