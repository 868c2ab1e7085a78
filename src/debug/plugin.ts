import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import {
  IDebugger,
  IDebuggerDisplayRegistry,
  IDebuggerHandler,
  IDebuggerSidebar
} from '@jupyterlab/debugger';
import { IEditorTracker } from '@jupyterlab/fileeditor';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { serverRoot } from '../locations/kernelPath';
import { ILiveState } from '../tokens';
import { addDebugCommands, DEBUG_COMMANDS } from './commands';
import { Conditions } from './conditions';
import { followEdits } from './followEdits';
import { FileGutters } from './fileGutters';
import { holdClicks } from './heldClicks';
import { addDebugJob } from './debugJob';
import { ExceptionFilters } from './exceptionFilters';
import { highlightCurrentLine } from './marks/currentLine';
import { RankMarks } from './marks/rankMarks';
import { pointsWithConditions } from './model/breakpoints';
import { ExpressionStore } from './model/expressionStore';
import { DebugModel, SetBreakpoint } from './model/model';
import { codeOf } from './model/notebookOf';
import { CellNames } from './model/cellNames';
import { NotebookBreakpoints } from './notebookBreakpoints';
import { addSections } from './sidebar/sections';
import { IKernelQueries, SessionQueue } from './sessionQueue';

/** All ranks in JupyterLab's own debugger. */
export const debugPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:debug',
  description: "Ranks, and values across them, in the debugger's sidebar.",
  autoStart: true,
  requires: [ILiveState, INotebookTracker],
  optional: [
    IDebugger,
    IDebuggerSidebar,
    IDebuggerDisplayRegistry,
    IDebuggerHandler,
    ICommandPalette,
    ITranslator,
    IStateDB,
    IEditorTracker
  ],
  activate: (
    app: JupyterFrontEnd,
    clusters: ILiveState,
    tracker: INotebookTracker,
    debug: IDebugger | null,
    sidebar: IDebugger.ISidebar | null,
    names: IDebuggerDisplayRegistry | null,
    handler: IDebugger.IHandler | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null,
    state: IStateDB | null,
    files: IEditorTracker | null
  ): void => {
    if (!debug || !sidebar) {
      return; // a front end without a debugger
    }
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands } = app;
    const model = new DebugModel(debug);
    const onError = (error: unknown): void => {
      Notification.error(
        error instanceof Error ? error.message : String(error),
        { autoClose: 8000 }
      );
    };
    const ours = new CellNames(debug, tracker, clusters, trans, model);
    const conditions = new Conditions(debug, () => codeOf(tracker));
    followEdits(debug, tracker, model, conditions);
    const args = { model, debug, clusters, names: ours, trans, onError };
    new NotebookBreakpoints(debug);
    new ExceptionFilters(debug, sidebar);
    const unreported = (): SetBreakpoint[] =>
      pointsWithConditions(debug.model.breakpoints, (...at) =>
        conditions.given(...at)
      );
    new RankMarks(model, debug, tracker, trans, unreported);
    const { contents } = app.serviceManager;
    const expressions =
      state && new ExpressionStore(model, state, debug, contents);
    expressions?.load().catch(onError);
    const gutters = files && new FileGutters(debug, model, files, serverRoot);
    const queue = new SessionQueue(
      handler as IKernelQueries | null,
      app.shell,
      debug,
      () => {
        model.refresh();
        expressions?.follow();
        gutters?.follow();
        void highlightCurrentLine(debug, tracker);
      }
    );
    holdClicks(queue);
    addSections(sidebar, { ...args, unreported });
    // the latest registration is used: JupyterLab's own returns "Cell [*]" for a running cell
    void app.restored.then(() => names?.register(ours));

    const parts = { ...args, app, tracker, queue };
    addDebugCommands(parts);
    addDebugJob(parts);
    let on = false;
    model.changed.connect(() => {
      if (on !== !!model.view?.on) {
        on = !!model.view?.on;
        for (const command of DEBUG_COMMANDS) {
          commands.notifyCommandChanged(command);
        }
      }
    });
    for (const command of DEBUG_COMMANDS) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
  }
};
