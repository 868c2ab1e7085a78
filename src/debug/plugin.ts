import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  InputDialog,
  Notification
} from '@jupyterlab/apputils';
import {
  IDebugger,
  IDebuggerDisplayRegistry,
  IDebuggerHandler,
  IDebuggerSidebar
} from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { onceAtATime } from '../request/once';
import { Cluster, ILiveState } from '../tokens';
import { Conditions } from './conditions';
import { holdClicks } from './heldClicks';
import { addDebugJob } from './debugJob';
import { highlightCurrentLine } from './marks/currentLine';
import { RankMarks } from './marks/rankMarks';
import { keptPoints } from './model/breakpoints';
import { KeptExpressions } from './model/keptExpressions';
import { DebugModel, SetBreakpoint } from './model/model';
import { codeOf } from './model/notebookOf';
import { CellNames } from './model/cellNames';
import { untilStands } from './model/waitForRanks';
import { addSections } from './sidebar/sections';
import { switchOnFor } from './startDebugger';
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
    IStateDB
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
    state: IStateDB | null
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
    const failed = (error: unknown): false => {
      onError(error);
      return false;
    };
    const ours = new CellNames(debug, tracker, clusters, trans, model);
    const conditions = new Conditions(debug, () => codeOf(tracker));
    const args = { model, debug, clusters, names: ours, trans, onError };
    const kept = (): SetBreakpoint[] =>
      keptPoints(debug.model.breakpoints, (...at) => conditions.given(...at));
    new RankMarks(model, debug, tracker, trans, kept);
    const { contents } = app.serviceManager;
    const expressions =
      state && new KeptExpressions(model, state, debug, contents);
    expressions?.load().catch(onError);
    const queue = new SessionQueue(
      handler as IKernelQueries | null,
      app.shell,
      debug,
      () => {
        model.refresh();
        expressions?.follow();
        void highlightCurrentLine(debug, tracker);
      }
    );
    holdClicks(queue);
    addSections(sidebar, { ...args, kept });
    // the latest registration is used: JupyterLab's own returns "Cell [*]" for a running cell
    void app.restored.then(() => names?.register(ours));

    const around = { ...args, app, tracker, queue };
    const switchOn = (
      cluster: Cluster,
      rank: number | undefined
    ): Promise<boolean> => switchOnFor(cluster, rank, around);
    const stands = (): boolean =>
      !!model.view?.ranks.some(r => r.phase === 'paused');
    const once = onceAtATime();
    commands.addCommand(CommandIDs.debugRank, {
      label: trans.__('Look at a Rank in the Debugger'),
      caption: trans.__('Show the stack and the variables of this rank'),
      isEnabled: args => !!model.view?.on || !!args.id,
      execute: args =>
        once(JSON.stringify(args), async () => {
          const cluster = clusters.clusters.find(c => c.id === args.id);
          const asked = args.rank as number | undefined;
          if (cluster && !(await switchOn(cluster, asked).catch(failed))) {
            return false;
          }
          const rank =
            (args.rank as number | undefined) ??
            (
              await InputDialog.getNumber({
                title: trans.__('Look at which rank?'),
                okLabel: trans.__('Look'),
                value: model.view?.focus ?? 0
              })
            ).value;
          if (rank === null || rank === undefined) {
            return false;
          }
          app.shell.activateById('jp-debugger-sidebar');
          try {
            if (args.pause) {
              await model.send('dtrain/pause', { ranks: [rank] });
            }
            let stood: Promise<void> | undefined;
            if (args.failed && (args.cell || !stands())) {
              const { cell } = args;
              await model.send('dtrain/postmortem', { cell }); // throws with the reason if that is impossible
              // its response arrives once a rank has stopped, maybe before the event that says so
              stood = untilStands(model, trans);
            }
            await Promise.all([model.focus(rank), stood]);
            return true;
          } catch (error) {
            return failed(error);
          }
        }),
      describedBy: {
        args: {
          type: 'object',
          properties: {
            rank: {
              type: 'number',
              description: 'Number of the rank to look at'
            },
            id: {
              type: 'string',
              description: 'Id of the cluster whose debugger is switched on'
            },
            pause: {
              type: 'boolean',
              description: 'Whether to stop the rank first'
            },
            failed: {
              type: 'boolean',
              description: 'Whether to show where its last cell failed'
            },
            cell: {
              type: 'string',
              description: 'Id of a run; the debugger shows where it failed'
            }
          }
        }
      }
    });
    commands.addCommand(CommandIDs.continueRanks, {
      label: trans.__('Continue on All Ranks'),
      caption: trans.__('Resume all ranks that the debugger has stopped'),
      isEnabled: args => !!model.view?.on || !!args.id,
      execute: async args => {
        const cluster = clusters.clusters.find(c => c.id === args.id);
        if (!cluster || (await switchOn(cluster, undefined).catch(failed))) {
          await model
            .send('continue', { threadId: 1, all: true })
            .catch(onError);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            id: {
              type: 'string',
              description: 'Id of the cluster of these ranks'
            }
          }
        }
      }
    });
    commands.addCommand(CommandIDs.toggleLockstep, {
      label: trans.__('Step All Ranks Together'),
      caption: trans.__('Off: a step moves only the rank that you look at'),
      isToggleable: true,
      isToggled: () => model.view?.mode === 'all',
      isEnabled: () => !!model.view?.on,
      execute: async () => {
        const mode = model.view?.mode === 'all' ? 'this' : 'all';
        await model.send('dtrain/mode', { mode }).catch(onError);
      },
      describedBy: { args: { type: 'object', properties: {} } }
    });
    commands.addCommand(CommandIDs.compareVariable, {
      label: trans.__('Compare Across Ranks'),
      caption: trans.__('Compare a value across all ranks, side by side'),
      isEnabled: args => !!model.view?.on || !!args.id,
      execute: async args => {
        if (args.id) {
          // for a failed cell: show its frames, and then compare the variables there
          const { id, rank, cell } = args;
          const looks = { id, rank, cell, failed: true };
          if (!(await commands.execute(CommandIDs.debugRank, looks))) {
            return; // the reason was shown
          }
        }
        if (stands() && !args.expression && !args.selected) {
          app.shell.activateById('jp-debugger-sidebar');
          await model.compareVariables().catch(onError);
          return;
        }
        if (args.id) {
          onError(new Error(trans.__('No rank stands where the cell failed.')));
          return;
        }
        const selected = args.selected
          ? debug.model.variables.selectedVariable?.name
          : undefined;
        const expression =
          (args.expression as string | undefined) ??
          selected ??
          (
            await InputDialog.getText({
              title: trans.__('Compare which expression across ranks?'),
              okLabel: trans.__('Compare'),
              placeholder: 'loss'
            })
          ).value;
        if (expression) {
          await model.compare(expression).catch(onError);
        }
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            expression: {
              type: 'string',
              description: 'The expression that all ranks evaluate'
            },
            selected: {
              type: 'boolean',
              description: 'Whether to compare the selected variable'
            },
            id: {
              type: 'string',
              description:
                'Id of the cluster whose last cell failed; values are compared there'
            },
            rank: {
              type: 'number',
              description: 'Number of the rank to look at'
            },
            cell: {
              type: 'string',
              description: 'Id of the run that failed; if missing, the last one'
            }
          }
        }
      }
    });
    addDebugJob(around);
    let on = false;
    model.changed.connect(() => {
      if (on !== !!model.view?.on) {
        on = !!model.view?.on;
        for (const command of OURS) {
          commands.notifyCommandChanged(command);
        }
      }
    });
    for (const command of OURS) {
      palette?.addItem({ command, category: trans.__('Distributed') });
    }
  }
};

const OURS = [
  CommandIDs.debugRank,
  CommandIDs.continueRanks,
  CommandIDs.toggleLockstep,
  CommandIDs.compareVariable
];
