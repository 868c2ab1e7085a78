import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { ReadonlyJSONObject } from '@lumino/coreutils';

import { CommandIDs } from '../../commands';
import {
  IAdviceState,
  IClusterActions,
  IKernelRecords,
  ILiveState,
  ISelection,
  ISite
} from '../../tokens';
import { addProfileCommands } from '../profiles/commands';
import { addClusterCommands } from './clusterCommands';
import { addSignInCommand } from './signInCommand';

/** Commands in the palette; the others need an argument, or are of the panel. */
const IN_PALETTE = [
  CommandIDs.startCluster,
  CommandIDs.stopCluster,
  CommandIDs.interruptRanks,
  CommandIDs.restartRanks,
  CommandIDs.resizeCluster,
  CommandIDs.diagnose,
  CommandIDs.goToProblem,
  CommandIDs.leaveOutRanks,
  CommandIDs.showLastOutput,
  CommandIDs.showChange,
  CommandIDs.editProfile,
  CommandIDs.deleteProfile,
  CommandIDs.checkProfile,
  CommandIDs.copyReport,
  CommandIDs.ignoreVerdict,
  CommandIDs.showIgnored
];

/** Commands for clusters and profiles. */
export const commandsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:commands',
  description: 'Commands that start, change and stop clusters; edit profiles.',
  autoStart: true,
  requires: [
    ILiveState,
    ISite,
    ISelection,
    IAdviceState,
    IClusterActions,
    IKernelRecords
  ],
  optional: [ICommandPalette, ILauncher, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    site: ISite,
    selection: ISelection,
    adviceState: IAdviceState,
    actions: IClusterActions,
    records: IKernelRecords,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands } = app;
    const { serverSettings } = app.serviceManager;
    addClusterCommands({
      commands,
      model,
      site,
      selection,
      adviceState,
      actions,
      records,
      trans
    });
    addProfileCommands(commands, site, serverSettings, trans);
    addSignInCommand(commands, serverSettings, trans);
    const category = trans.__('Distributed');
    for (const command of IN_PALETTE) {
      // its label has an ellipsis: it asks, as in the menu
      const args: ReadonlyJSONObject =
        command === CommandIDs.startCluster ? { ask: true } : {};
      palette?.addItem({ command, category, args });
    }
    launcher?.add({
      command: CommandIDs.startCluster,
      category,
      rank: 1,
      args: { ask: true, launcher: true }
    });
  }
};
