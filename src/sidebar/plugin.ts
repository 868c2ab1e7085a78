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

import { addClusterCommands } from '../cluster/commands/clusterCommands';
import {
  announceCells,
  announceLimit,
  announceProblems
} from '../cluster/notices';
import { addProfileCommands } from '../cluster/profiles/commands';
import { CommandIDs } from '../commands';
import { cellInView, notebookInView } from '../locations/visibility';
import {
  Cluster,
  IClusterActions,
  ILiveState,
  IAdviceState,
  IPreferences,
  IPreferenceValues,
  ISite,
  ISelection,
  ISweeps
} from '../tokens';
import { distributedIcon } from '../ui/icons/icons';
import { DistributedPanel } from './panel';

/** The sidebar and its commands. */
export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:panel',
  description: 'The Distributed sidebar: clusters and their ranks.',
  autoStart: true,
  requires: [
    ILiveState,
    ISite,
    IPreferences,
    ISelection,
    IAdviceState,
    IClusterActions
  ],
  optional: [
    ICommandPalette,
    ILauncher,
    ILayoutRestorer,
    INotebookTracker,
    ISettingRegistry,
    ITranslator,
    ISweeps
  ],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    site: ISite,
    preferences: IPreferences,
    selection: ISelection,
    adviceState: IAdviceState,
    actions: IClusterActions,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    restorer: ILayoutRestorer | null,
    tracker: INotebookTracker | null,
    registry: ISettingRegistry | null,
    translator: ITranslator | null,
    sweeps: ISweeps | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands, shell } = app;
    addClusterCommands({
      commands,
      model,
      site,
      selection,
      adviceState,
      actions,
      trans
    });
    const { serverSettings } = app.serviceManager;
    addProfileCommands(commands, site, serverSettings, trans);
    // before that nothing is visible yet, and everything would be notified again after a reload
    void app.restored.then(() =>
      announceProblems(model, preferences, trans, cluster =>
        problemInView(cluster)
      )
    );
    announceLimit(model, trans);
    announceCells(model, preferences, actions, trans, notebook =>
      notebookInView(tracker, notebook)
    );
    void registry?.load(panelPlugin.id).then(settings => {
      const take = (): void => {
        preferences.configure(
          settings.composite as unknown as IPreferenceValues
        );
      };
      settings.changed.connect(take);
      take();
    });
    const panel = new DistributedPanel({
      model,
      site,
      selection,
      adviceState,
      sweeps,
      commands,
      trans
    });
    const problemInView = (cluster: Cluster): boolean =>
      !document.hidden &&
      ((panel.isVisible && selection.cluster?.id === cluster.id) ||
        cellInView(tracker, cluster));
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
      CommandIDs.diagnose,
      CommandIDs.attachNotebook,
      CommandIDs.goToProblem,
      CommandIDs.leaveOutRanks,
      CommandIDs.showLastOutput,
      CommandIDs.showChange,
      CommandIDs.editProfile,
      CommandIDs.checkProfile,
      CommandIDs.signIn,
      CommandIDs.copyReport,
      CommandIDs.ignoreVerdict,
      CommandIDs.showIgnored
    ]) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
    launcher?.add({
      command: CommandIDs.startCluster,
      category: trans.__('Distributed'),
      rank: 1,
      args: { ask: true, launcher: true }
    });
  }
};
