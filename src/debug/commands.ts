import { InputDialog } from '@jupyterlab/apputils';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { CommandIDs } from '../commands';
import { DEBUGGER_SIDEBAR } from '../jupyterlab/markup';
import { onceAtATime } from '../request/once';
import { DebugModel } from './model/model';
import { untilPaused } from './model/waitForRanks';
import { whyNoneContinues, whyNoRanks } from './model/whyNoRanks';
import { IDebugParts, switchOnFor } from './startDebugger';

/** Commands for ranks in the debugger, which the palette offers. */
export const DEBUG_COMMANDS = [
  CommandIDs.debugRank,
  CommandIDs.continueRanks,
  CommandIDs.toggleLockstep,
  CommandIDs.compareVariable
];

/** Adds them. */
export function addDebugCommands(parts: IDebugParts): void {
  addLookCommand(parts);
  addContinueCommand(parts);
  addLockstepCommand(parts);
  addCompareCommand(parts);
}

/** Handles an error of a step, and returns that it failed. */
function failsWith(
  onError: (error: unknown) => void
): (error: unknown) => false {
  return error => {
    onError(error);
    return false;
  };
}

/** When a command is enabled; while it is not, its caption is the reason. */
function offered(
  whyNot: (args: ReadonlyPartialJSONObject) => string | null,
  caption: string
): Pick<CommandRegistry.ICommandOptions, 'caption' | 'isEnabled'> {
  return {
    caption: args => whyNot(args) ?? caption,
    isEnabled: args => whyNot(args) === null
  };
}

/** Whether a rank is paused. */
function isAnyPaused(model: DebugModel): boolean {
  return !!model.view?.ranks.some(r => r.phase === 'paused');
}

/** The command that shows a rank in the debugger. */
function addLookCommand(parts: IDebugParts): void {
  const { app, clusters, model, trans, onError } = parts;
  const failed = failsWith(onError);
  const once = onceAtATime();
  app.commands.addCommand(CommandIDs.debugRank, {
    label: trans.__('Look at a Rank in the Debugger'),
    ...offered(
      args => (args.id ? null : whyNoRanks(model, trans)),
      trans.__('Show the stack and the variables of this rank')
    ),
    execute: args =>
      once(JSON.stringify(args), async () => {
        const cluster = clusters.clusters.find(c => c.id === args.id);
        const asked = args.rank as number | undefined;
        if (
          cluster &&
          !(await switchOnFor(
            cluster,
            { rank: asked, notebook: args.notebook as string | undefined },
            parts
          ).catch(failed))
        ) {
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
        app.shell.activateById(DEBUGGER_SIDEBAR);
        try {
          if (args.pause) {
            await model.send('dtrain/pause', { ranks: [rank] });
          }
          let paused: Promise<void> | undefined;
          if (args.failed && (args.cell || !isAnyPaused(model))) {
            const { cell } = args;
            const wanted = args.others ? undefined : asked;
            await model.send('dtrain/postmortem', { cell, rank: wanted }); // throws with the reason if that is impossible
            // its response arrives once a rank has stopped, maybe before the event that says so
            paused = untilPaused(model, trans);
          }
          await Promise.all([model.focus(rank), paused]);
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
          },
          notebook: {
            type: 'string',
            description: 'The notebook of that run, as its kernel calls it'
          },
          others: {
            type: 'boolean',
            description: 'Whether other ranks that stand there will do as well'
          }
        }
      }
    }
  });
}

/** The command that lets all paused ranks continue. */
function addContinueCommand(parts: IDebugParts): void {
  const { app, clusters, model, trans, onError } = parts;
  const failed = failsWith(onError);
  app.commands.addCommand(CommandIDs.continueRanks, {
    label: trans.__('Continue on All Ranks'),
    ...offered(
      args => (args.id ? null : whyNoneContinues(model, trans)),
      trans.__('Resume all ranks that the debugger has stopped')
    ),
    execute: async args => {
      const cluster = clusters.clusters.find(c => c.id === args.id);
      if (
        !cluster ||
        (await switchOnFor(cluster, { rank: undefined }, parts).catch(failed))
      ) {
        await model.send('continue', { threadId: 1, all: true }).catch(onError);
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
}

/** The command that switches between steps of all ranks and of one. */
function addLockstepCommand(parts: IDebugParts): void {
  const { app, model, trans, onError } = parts;
  app.commands.addCommand(CommandIDs.toggleLockstep, {
    label: trans.__('Step All Ranks Together'),
    ...offered(
      () => whyNoRanks(model, trans),
      trans.__('Off: a step moves only the rank that you look at')
    ),
    isToggleable: true,
    isToggled: () => model.view?.mode === 'all',
    execute: async () => {
      const mode = model.view?.mode === 'all' ? 'this' : 'all';
      await model.send('dtrain/mode', { mode }).catch(onError);
    },
    describedBy: { args: { type: 'object', properties: {} } }
  });
}

/** The command that compares a value across ranks. */
function addCompareCommand(parts: IDebugParts): void {
  const { app, debug, model, trans, onError } = parts;
  app.commands.addCommand(CommandIDs.compareVariable, {
    label: trans.__('Compare Across Ranks'),
    ...offered(
      args => (args.id ? null : whyNoRanks(model, trans)),
      trans.__('Compare a value across all ranks, side by side')
    ),
    execute: async args => {
      if (args.id) {
        // for a failed cell: show its frames, and then compare the variables there
        const { id, rank, cell, notebook } = args;
        const looks = { id, rank, cell, notebook, failed: true, others: true };
        if (!(await app.commands.execute(CommandIDs.debugRank, looks))) {
          return; // the reason was shown
        }
      }
      if (isAnyPaused(model) && !args.expression && !args.selected) {
        app.shell.activateById(DEBUGGER_SIDEBAR);
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
          },
          notebook: {
            type: 'string',
            description: 'The notebook of that run, as its kernel calls it'
          }
        }
      }
    }
  });
}
