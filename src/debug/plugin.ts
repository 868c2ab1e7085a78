import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import {
  IDebugger,
  IDebuggerDisplayRegistry,
  IDebuggerHandler,
  IDebuggerSidebar,
  IDebuggerSources
} from '@jupyterlab/debugger';
import { IEditorTracker } from '@jupyterlab/fileeditor';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { DisposableSet } from '@lumino/disposable';

import { BugPresses } from '../jupyterlab/debugButton';
import { queriesOf } from '../jupyterlab/debuggerHandler';
import { DebuggerService } from '../jupyterlab/debuggerService';
import { DebuggerSession } from '../jupyterlab/debuggerSession';
import { editorSearchOf } from '../jupyterlab/debuggerSources';
import { reporter } from '../jupyterlab/names';
import { serverRoot } from '../locations/serverRoot';
import { IJobs, IKernelRecords, ILiveState } from '../tokens';
import {
  addBreakpointCommands,
  BREAKPOINT_COMMANDS
} from './marks/breakpointCommands';
import { addDebugCommands, DEBUG_COMMANDS } from './commands';
import { Conditions } from './conditions';
import { EndWithJob } from './endWithJob';
import { followEdits } from './followEdits';
import { FileGutters } from './marks/fileGutters';
import { holdCells } from './marks/heldCells';
import { holdClicks } from './marks/heldClicks';
import { addDebugJob } from './debugJob';
import { ExceptionFilters } from './exceptionFilters';
import { KeptBreakpoints } from './keptBreakpoints';
import { highlightCurrentLine } from './marks/currentLine';
import { showStopsInOpenFiles } from './marks/openFiles';
import { RankMarks } from './marks/rankMarks';
import { pointsWithConditions } from './model/breakpoints';
import { ExpressionStore } from './model/expressionStore';
import { DebugModel, SetBreakpoint } from './model/model';
import { codeOf, debuggedCells } from './model/notebookOf';
import { whyNoneContinues, whyNoRanks } from './model/whyNoRanks';
import { CellNames } from './model/cellNames';
import { NotebookBreakpoints } from './notebookBreakpoints';
import { addSections } from './sidebar/sections';
import { sayRefusedPauses } from '../jupyterlab/refusedPause';
import { SessionQueue } from './sessionQueue';
import { endPostMortemOnStop } from './sidebar/stopPostMortem';
import { takeOver } from './takeOver';
import { tellBriefly } from '../ui/text/toast';

/** What is given back to JupyterLab when the plugin is deactivated: its methods, and its sidebar's sections. */
let added: DisposableSet | null = null;

/** All ranks in JupyterLab's own debugger. */
export const debugPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:debug',
  description: "Ranks, and values across them, in the debugger's sidebar.",
  autoStart: true,
  requires: [ILiveState, IJobs, IKernelRecords, INotebookTracker],
  optional: [
    IDebugger,
    IDebuggerSidebar,
    IDebuggerDisplayRegistry,
    IDebuggerHandler,
    ICommandPalette,
    ITranslator,
    IStateDB,
    IEditorTracker,
    IDebuggerSources
  ],
  activate: (
    app: JupyterFrontEnd,
    clusters: ILiveState,
    jobs: IJobs,
    records: IKernelRecords,
    tracker: INotebookTracker,
    debug: IDebugger | null,
    sidebar: IDebugger.ISidebar | null,
    names: IDebuggerDisplayRegistry | null,
    handler: IDebugger.IHandler | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null,
    state: IStateDB | null,
    files: IEditorTracker | null,
    sources: IDebugger.ISources | null
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
    const report = reporter(trans);
    const service = new DebuggerService(debug, report);
    const requests = new DebuggerSession(debug, report);
    sayRefusedPauses(requests, why => void tellBriefly(why, 'info'));
    const queries = queriesOf(handler, report);
    const presses = new BugPresses(report);
    const conditions = new Conditions(debug, service, requests, () =>
      codeOf(tracker)
    );
    followEdits(debug, service, tracker, model, conditions);
    const args = { model, debug, clusters, names: ours, trans, onError };
    new NotebookBreakpoints(debug, service);
    const kept = new KeptBreakpoints(
      debug,
      service,
      () => debuggedCells(debug, tracker),
      onError
    );
    new ExceptionFilters(debug, service, sidebar);
    const unreported = (): SetBreakpoint[] =>
      pointsWithConditions(debug.model.breakpoints, (...at) =>
        conditions.given(...at)
      );
    new RankMarks(model, debug, tracker, clusters, trans, unreported);
    const { contents } = app.serviceManager;
    const expressions =
      state && new ExpressionStore(model, state, debug, contents);
    expressions?.load().catch(onError);
    const gutters = files && new FileGutters(debug, model, files, serverRoot);
    const search = files && sources && editorSearchOf(sources, report);
    if (search) {
      const isOn = (): boolean => !!model.view?.on;
      showStopsInOpenFiles(search, files, serverRoot, isOn, id =>
        app.shell.activateById(id)
      );
    }
    const follow = (): void =>
      model.follow(tracker.currentWidget?.sessionContext.session ?? null);
    tracker.currentChanged.connect(follow);
    const queue = new SessionQueue(
      { queries, presses, service },
      app.shell,
      debug,
      () => {
        model.refresh();
        follow();
        expressions?.follow();
        gutters?.follow();
        void highlightCurrentLine(debug, tracker);
      }
    );
    holdCells(queue, tracker);
    const parts = { ...args, app, tracker, queue, records };
    const ends = new EndWithJob({ ...parts, kept, state });
    added = DisposableSet.from([
      service,
      requests,
      presses,
      ends,
      ...(queries ? [queries] : []),
      ...(search ? [search] : []),
      holdClicks(queue),
      addSections(
        sidebar,
        { ...args, unreported, takeOver: takeOver(parts) },
        report
      )
    ]);
    // the latest registration is used: JupyterLab's own returns "Cell [*]" for a running cell
    void app.restored.then(() => names?.register(ours));

    addDebugCommands(parts);
    addBreakpointCommands({ ...parts, files, names: ours, unreported });
    addDebugJob(parts, jobs, ends);
    endPostMortemOnStop({ ...parts, commands });
    let before = '';
    model.changed.connect(() => {
      const now = [whyNoRanks, whyNoneContinues]
        .map(why => why(model, trans))
        .join();
      if (now !== before) {
        before = now;
        for (const command of DEBUG_COMMANDS) {
          commands.notifyCommandChanged(command);
        }
      }
    });
    for (const command of [...DEBUG_COMMANDS, ...BREAKPOINT_COMMANDS]) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
  },
  deactivate: (): void => {
    added?.dispose();
    added = null;
  }
};
