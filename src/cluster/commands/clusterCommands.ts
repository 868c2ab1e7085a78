import { Clipboard, Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { closeIcon, copyIcon } from '@jupyterlab/ui-components';

import { CommandIDs, showPanel } from '../../commands';
import { Cluster, ILiveState } from '../../tokens';
import { neediest } from '../../verdicts/sentence';
import { isHang } from '../../verdicts/verdict';
import { addAdviceCommands } from './adviceActions';
import {
  Add,
  adder,
  Args,
  IClusterCommandParts,
  isReadOnly,
  watchOnly
} from './clusterCommand';
import { othersText } from '../model/notebookCluster';
import { confirmLoss, showDiagnosis } from '../dialogs/dialogs';
import { reportText } from '../model/clusterReport';
import { notifyWhenPossible } from './notifyWhenPossible';
import { isStarting } from '../model/phases';
import { addRankCommands } from './rankCommands';
import { addStartCommand, tellCancelled } from './startCommand';
import { tellBriefly } from '../../ui/text/toast';

/** Commands for clusters. */
export function addClusterCommands(parts: IClusterCommandParts): void {
  const { commands, model, site, selection, adviceState, actions, trans } =
    parts;
  const added: string[] = [CommandIDs.startCluster];
  const addOne = adder(parts);
  const add: Add = (id, command) => {
    addOne(id, command);
    added.push(id);
  };
  addStartCommand(commands, { model, site, selection, actions, trans });
  add(CommandIDs.stopCluster, {
    label: trans.__('Stop…'),
    labelOf: cluster => trans.__('Stop %1…', cluster.name),
    labelAlone: trans.__('Stop a Cluster…'),
    caption: trans.__('End the ranks of a cluster; their variables are lost'),
    icon: closeIcon,
    // one that has stopped is only removed from this page's list
    obstacle: cluster =>
      cluster.state !== 'stopped' && isReadOnly(site) ? watchOnly(trans) : null,
    args: {
      ask: {
        type: 'boolean',
        description: 'Whether to ask the user first; true if missing'
      }
    },
    execute: (cluster, args) => stop(cluster, args, parts)
  });
  addRankCommands(add, actions, trans);
  addAdviceCommands(add, adviceState, actions, parts.records, trans);
  add(CommandIDs.diagnose, {
    label: trans.__('Diagnose'),
    caption: trans.__("Measure what takes a step's time"),
    may: 'stacks',
    execute: async cluster => {
      adviceState.setTried(cluster.id, null);
      const found = await actions.diagnose(cluster.id);
      await showDiagnosis(cluster.name, found, trans);
    }
  });
  addReportCommand(add, trans);
  addIgnoreCommands(add, model, trans);
  addProblemCommand(parts);
  notifyWhenPossible(commands, model, selection, site, added);
}

/** Stop a cluster; if it is running, the user is asked first. */
async function stop(
  cluster: Cluster,
  args: Args,
  { selection, actions, records, trans }: IClusterCommandParts
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
        othersText(cluster, selection.notebook, records, trans)
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
    if (cluster.state === 'failed') {
      selection.forget(cluster.id); // it was removed: its end is known
    }
  }
  if (starts) {
    tellCancelled(cluster.name, trans);
  }
}

/** The command that copies a cluster's report. */
function addReportCommand(add: Add, trans: TranslationBundle): void {
  let copied = '';
  add(CommandIDs.copyReport, {
    label: trans.__('Copy Report'),
    caption: trans.__('Copy the state of a cluster as text'),
    icon: copyIcon,
    execute: cluster => {
      Clipboard.copyToSystem(reportText(cluster, trans));
      // one notification at a time; without an id, all would be dismissed
      if (copied) {
        Notification.dismiss(copied);
      }
      const text = trans.__('The report is on the clipboard.');
      copied = tellBriefly(text);
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
        await showPanel(commands);
      } else {
        tellBriefly(trans.__('No cluster has a problem.'), 'info');
      }
    },
    describedBy: { args: { type: 'object', properties: {} } }
  });
}

/** Commands to ignore a verdict, and to show it again. */
function addIgnoreCommands(
  add: Add,
  model: ILiveState,
  trans: TranslationBundle
): void {
  add(CommandIDs.ignoreVerdict, {
    label: trans.__('Ignore the Verdict'),
    caption: trans.__(
      'Hide the verdict in this browser until it changes or ends'
    ),
    obstacle: cluster =>
      cluster.metrics.verdicts.some(isHang)
        ? null
        : trans.__('No verdict on %1 can be ignored.', cluster.name),
    execute: cluster => model.ignore(cluster.id)
  });
  add(CommandIDs.showIgnored, {
    label: trans.__('Show the Ignored Verdict'),
    caption: trans.__('Show a verdict that was ignored in this browser'),
    obstacle: cluster =>
      model.ignored(cluster.id)
        ? null
        : trans.__('No verdict on %1 is ignored.', cluster.name),
    execute: cluster => model.showIgnored(cluster.id)
  });
}
