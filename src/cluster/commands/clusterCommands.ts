import { Clipboard, Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { CommandIDs } from '../../commands';
import {
  Cluster,
  IAdviceState,
  IClusterActions,
  ILiveState,
  ISelection,
  ISite
} from '../../tokens';
import { TOAST_MS } from '../../ui/actionButton';
import { neediest } from '../../verdicts/sentence';
import { isHang } from '../../verdicts/verdict';
import { Add, addAdviceCommands, Args } from './adviceActions';
import { othersText } from '../model/notebookCluster';
import { confirmLoss, showDiagnosis } from '../dialogs/dialogs';
import { reportErrors } from '../dialogs/reportErrors';
import { reportText } from '../model/clusterReport';
import { notifyWhenPossible } from './notifyWhenPossible';
import { signInTo } from '../dialogs/signin';
import { isStarting } from '../model/phases';
import { addRankCommands } from './rankCommands';
import { addStartCommand, tellCancelled } from './startCommand';

const CLUSTER_ARGS = {
  args: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Id of the cluster' },
      ask: { type: 'boolean', description: 'Whether to ask the user first' },
      size: { type: 'number', description: 'The new number of ranks' },
      advice: {
        type: 'string',
        description: 'Id of the advice; if missing, the best one is used'
      },
      ranks: {
        type: 'array',
        items: { type: 'number' },
        description: 'Numbers of the ranks; if missing, all ranks'
      },
      source: {
        type: 'number',
        description: 'Number of the rank whose variables the new processes get'
      }
    }
  }
} as const;

/** What the commands for clusters use. */
export interface IClusterCommandParts {
  commands: CommandRegistry;
  model: ILiveState;
  site: ISite;
  selection: ISelection;
  adviceState: IAdviceState;
  actions: IClusterActions;
  trans: TranslationBundle;
}

/** Commands for clusters. */
export function addClusterCommands(parts: IClusterCommandParts): void {
  const { commands, model, site, selection, adviceState, actions, trans } =
    parts;
  const target = targetOf(parts);
  const added: string[] = [CommandIDs.ignoreVerdict, CommandIDs.showIgnored];
  const addOne = adder(parts, target);
  const add: Add = (id, ...command) => {
    addOne(id, ...command);
    added.push(id);
  };
  addStartCommand(commands, site, selection, actions, trans);
  add(CommandIDs.stopCluster, trans.__('Stop…'), null, (cluster, args) =>
    stop(cluster, args, parts)
  );
  addRankCommands(add, actions, trans);
  addAdviceCommands(add, adviceState, actions, trans);
  add(CommandIDs.diagnose, trans.__('Diagnose'), 'stacks', async cluster => {
    const found = await actions.diagnose(cluster.id);
    await showDiagnosis(cluster.name, found, trans);
  });
  addReportCommand(add, trans);
  addIgnoreCommands(commands, model, target, trans);
  addSignInCommand(commands, trans);
  addProblemCommand(parts);
  notifyWhenPossible(commands, model, selection, added);
}

/** Finds the cluster that a command is for: the one with its `id`, else the current one. */
type Target = (args: Args) => Cluster | null;

function targetOf({ model, selection }: IClusterCommandParts): Target {
  return args =>
    [...model.clusters, ...selection.ended].find(c => c.id === args.id) ??
    (args.id === undefined ? selection.current : null);
}

/** The function that adds a command for a cluster. */
function adder(
  { commands, model, trans }: IClusterCommandParts,
  target: Target
): Add {
  return (id, label, may, execute, when = () => true) => {
    commands.addCommand(id, {
      label: args => {
        // where it is one of several, a menu without a cluster of its own says which
        const of = args.id === undefined ? target(args) : null;
        if (of && id === CommandIDs.stopCluster) {
          return trans.__('Stop %1…', of.name);
        }
        return of && model.clusters.length > 1
          ? trans.__('%1 (%2)', label, of.name)
          : label;
      },
      isEnabled: args => {
        const cluster = target(args);
        return (
          !!cluster &&
          (may === null || cluster.may.includes(may)) &&
          when(cluster)
        );
      },
      execute: async args => {
        const cluster = target(args);
        if (cluster) {
          const act = (): Promise<void> | void => execute(cluster, args);
          await reportErrors(trans, act, cluster.name);
        }
      },
      describedBy: CLUSTER_ARGS
    });
  };
}

/** Stop a cluster; if it is running, the user is asked first. */
async function stop(
  cluster: Cluster,
  args: Args,
  { selection, actions, trans }: IClusterCommandParts
): Promise<void> {
  if (cluster.state === 'stopped') {
    selection.forget(cluster.id);
    return;
  }
  const starts = isStarting(cluster);
  const sure =
    args.ask === false ||
    starts ||
    cluster.state === 'failed' ||
    (await confirmLoss(
      trans.__('Stop %1?', cluster.name),
      [
        trans._n(
          'Its rank ends, and its variables are lost.',
          'Its %1 ranks end, and their variables are lost.',
          cluster.world.size
        ),
        cluster.running.length
          ? trans._n(
              'The cell that runs on it ends, too.',
              'The %1 cells that run on it end, too.',
              cluster.running.length
            )
          : '',
        othersText(cluster, selection.notebook, trans)
      ]
        .filter(Boolean)
        .join(' '),
      trans.__('Stop'),
      trans
    ));
  if (sure) {
    // the selected cluster shows that it has stopped, and how long it ran
    selection.select(cluster.id);
    await actions.stop(cluster.id);
  }
  if (starts) {
    tellCancelled(cluster.name, trans);
  }
}

/** The command that copies a cluster's report. */
function addReportCommand(add: Add, trans: TranslationBundle): void {
  let copied = '';
  add(CommandIDs.copyReport, trans.__('Copy Report'), null, cluster => {
    Clipboard.copyToSystem(reportText(cluster, trans));
    // one notification at a time; without an id, all would be dismissed
    if (copied) {
      Notification.dismiss(copied);
    }
    copied = Notification.success(trans.__('The report is on the clipboard.'), {
      autoClose: TOAST_MS
    });
  });
}

/** The command that answers a host's prompt. */
function addSignInCommand(
  commands: CommandRegistry,
  trans: TranslationBundle
): void {
  commands.addCommand(CommandIDs.signIn, {
    label: trans.__('Sign In…'),
    caption: trans.__("Answer a host's prompt"),
    isEnabled: args => !!args.host,
    execute: args =>
      reportErrors(trans, async () => {
        await signInTo(String(args.host), trans);
      }),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          host: { type: 'string', description: 'Name of the host' }
        }
      }
    }
  });
}

/** The command that shows the first cluster that needs attention. */
function addProblemCommand({
  commands,
  model,
  selection,
  trans
}: IClusterCommandParts): void {
  commands.addCommand(CommandIDs.goToProblem, {
    label: trans.__('Go to Problem'),
    caption: trans.__('Show the first cluster that needs attention'),
    execute: async () => {
      const cluster = neediest(model.clusters);
      if (cluster) {
        selection.select(cluster.id);
        await commands.execute(CommandIDs.showPanel);
      } else {
        Notification.info(trans.__('No cluster has a problem.'), {
          autoClose: TOAST_MS
        });
      }
    },
    describedBy: { args: { type: 'object', properties: {} } }
  });
}

/** Commands to ignore a verdict, and to show it again. */
function addIgnoreCommands(
  commands: CommandRegistry,
  model: ILiveState,
  target: Target,
  trans: TranslationBundle
): void {
  commands.addCommand(CommandIDs.ignoreVerdict, {
    label: trans.__('Ignore the Verdict'),
    caption: trans.__(
      'Hide the verdict in this browser until it changes or ends'
    ),
    isEnabled: args => !!target(args)?.metrics.verdicts.some(isHang),
    execute: args => {
      const cluster = target(args);
      if (cluster) {
        model.ignore(cluster.id);
      }
    },
    describedBy: CLUSTER_ARGS
  });
  commands.addCommand(CommandIDs.showIgnored, {
    label: trans.__('Show the Ignored Verdict'),
    isEnabled: args => {
      const cluster = target(args);
      return !!cluster && model.ignored(cluster.id) !== null;
    },
    execute: args => {
      const cluster = target(args);
      if (cluster) {
        model.showIgnored(cluster.id);
      }
    },
    describedBy: CLUSTER_ARGS
  });
}
