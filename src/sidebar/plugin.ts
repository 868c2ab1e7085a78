import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import {
  IAdviceState,
  IKernelRecords,
  ILiveState,
  ISelection,
  ISite,
  ISweeps
} from '../tokens';
import { distributedIcon } from '../ui/icons/icons';
import { DistributedPanel } from './panel';

/** Move the focus from the panel to the current document. */
function leave(shell: JupyterFrontEnd.IShell): void {
  if (shell.currentWidget) {
    shell.activateById(shell.currentWidget.id);
  }
}

/** The sidebar, and the command that shows it; chosen again, it leads back to the document, as Escape does. */
export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:panel',
  description: 'The Distributed sidebar: clusters and their ranks.',
  autoStart: true,
  requires: [ILiveState, ISite, ISelection, IAdviceState, IKernelRecords],
  optional: [ICommandPalette, ILayoutRestorer, ITranslator, ISweeps],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    site: ISite,
    selection: ISelection,
    adviceState: IAdviceState,
    records: IKernelRecords,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null,
    sweeps: ISweeps | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands, shell } = app;
    const panel = new DistributedPanel({
      model,
      site,
      selection,
      adviceState,
      records,
      sweeps,
      commands,
      trans
    });
    shell.add(panel, 'left', { rank: 600, type: 'Distributed' });
    restorer?.add(panel, panel.id);
    commands.addCommand(CommandIDs.showPanel, {
      label: trans.__('Distributed Panel'),
      caption: trans.__('Clusters and ranks of distributed training'),
      icon: distributedIcon,
      execute: args => {
        if (args.stay || !panel.node.contains(document.activeElement)) {
          shell.activateById(panel.id);
        } else {
          leave(shell);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            stay: {
              type: 'boolean',
              description: trans.__(
                'Keep the focus in the panel, where it leads back to the main area otherwise'
              )
            }
          }
        }
      }
    });
    panel.node.addEventListener('keydown', event => {
      if (event.key === 'Escape' && !event.defaultPrevented) {
        event.preventDefault();
        leave(shell);
      }
    });
    palette?.addItem({
      command: CommandIDs.showPanel,
      category: trans.__('Distributed')
    });
  }
};
