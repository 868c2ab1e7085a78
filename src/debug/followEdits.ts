import { IDebugger } from '@jupyterlab/debugger';
import {
  INotebookTracker,
  NotebookActions,
  NotebookPanel
} from '@jupyterlab/notebook';

import { dotsIn } from '../jupyterlab/breakpointGutter';
import { DebuggerService } from '../jupyterlab/debuggerService';
import { Conditions } from './conditions';
import { EditedCells, IEditedCell } from './editedCells';
import { KernelEnd } from './model/kernelEnd';
import { sendAtOnce } from './model/kernelRequest';
import { DebugModel } from './model/model';
import { codeCellsOf, debuggedNotebook } from './model/notebookOf';

/**
 * Keep the breakpoints of cells with their text, also if a cell is run right after an edit.
 *
 * Only for notebooks with ranks: those of others are JupyterLab's.
 */
export function followEdits(
  debug: IDebugger,
  service: Pick<DebuggerService, 'updates'>,
  tracker: INotebookTracker,
  model: Pick<DebugModel, 'view'>,
  conditions: Pick<Conditions, 'asking'>
): void {
  const debugged = (): NotebookPanel | undefined =>
    model.view?.on ? debuggedNotebook(debug, tracker) : undefined;
  const cells = (): IEditedCell[] =>
    codeCellsOf(debugged()).map(cell => ({
      key: cell.model,
      text: cell.model.sharedModel.getSource(),
      dots: () => dotsIn(cell.node)
    }));
  const edited = new EditedCells(debug, service, {
    cells,
    send: (command, args) => {
      const { kernel } = debug.session?.connection ?? {};
      if (kernel) {
        sendAtOnce(kernel, command, args);
      }
    },
    asking: (code, lines) => conditions.asking(code, lines)
  });
  // of a cell that a restart has canceled, nothing else tells that it has ended
  const kernel = new KernelEnd(() => edited.endedAll());
  NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
    if (debugged()?.content === notebook) {
      kernel.follow(debug.session?.connection ?? null);
      edited.begins(cell.model);
    }
  });
  NotebookActions.executed.connect((_, { cell }) => edited.ended(cell.model));
}
