import { CodeCell } from '@jupyterlab/cells';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { CommandIDs } from '../commands';
import { IBarActions } from './cellBar';
import { IFailureActions } from './failure';
import { showsEarlier } from './runs/cellOutput';
import { NotebookRuns } from './runs/notebookRuns';
import { IRunStatus } from './runStatus';

/** What the actions of a cell's view need. */
export interface ICellActions {
  runs: NotebookRuns;
  commands: CommandRegistry;
  trans: TranslationBundle;
  /** Show a line of the cell with this name; of the given cell if it is its own. */
  goTo: (cell: string, line: number, own: CodeCell | null) => void;
  file: IFailureActions['file'];
}

/**
 * Actions of a cell's bar and failure, as the state of its run allows.
 *
 * @param choose - shows the output of the chosen ranks
 */
export function actionsOf(
  status: IRunStatus,
  cell: CodeCell,
  context: ICellActions,
  choose: IBarActions['choose']
): IBarActions & IFailureActions {
  const { commands, trans, goTo, file } = context;
  const { cluster, record } = status;
  const gone = showsEarlier(cell.model.sharedModel.getSource())
    ? trans.__('Use the button below the cell that failed.')
    : context.runs.isCopied(cell)
      ? trans.__('This copy of the cell has not run. Run it first.')
      : trans.__('The cluster that ran this cell has ended.');
  const can = (id: string, args = {}): (() => void) | null =>
    cluster &&
    commands.hasCommand(id) &&
    commands.isEnabled(id, { id: cluster.id, ...args })
      ? () => void commands.execute(id, { id: cluster.id, ...args })
      : null;
  const look = (
    command: string,
    rank: number
  ): { act: (() => void) | null; why: string } => {
    const lost = lostIn(status, rank, trans);
    const act = lost
      ? null
      : can(command, {
          rank,
          failed: true,
          cell: record?.id,
          notebook: record?.notebook
        });
    const why = !cluster
      ? gone
      : lost || trans.__('The debugger is not available here.');
    return { act, why };
  };
  return {
    choose,
    interrupt: can(CommandIDs.interruptRanks),
    stacks: can(CommandIDs.showStacks),
    place: (name, line) =>
      goTo(name, line, !record || record.cell === name ? cell : null),
    file,
    debug: rank => look(CommandIDs.debugRank, rank),
    compare: rank => look(CommandIDs.compareVariable, rank)
  };
}

/** Why lines that the notebook lacks can't be read; empty if they can, or if that is not known yet. */
export function whyNotShown(
  runs: Pick<NotebookRuns, 'isCopied' | 'isUnknown'>,
  cell: CodeCell,
  trans: TranslationBundle
): string {
  if (runs.isCopied(cell)) {
    return trans.__(
      'Only the notebook that ran the cell can show these lines.'
    );
  }
  return runs.isUnknown(cell)
    ? trans.__(
        'These lines are no longer available: the cluster that ran this cell has ended.'
      )
    : '';
}

/** Why the process in which a cell failed is no longer there; empty if it is. */
export function lostIn(
  { cluster, record }: IRunStatus,
  rank: number,
  trans: TranslationBundle
): string {
  if (!cluster) {
    return '';
  }
  const now = cluster.ranks[rank];
  if (!now) {
    return trans.__('There is no rank %1 any more.', rank);
  }
  if (now.state === 'lost') {
    return trans.__('Rank %1 was lost.', rank);
  }
  // `replaced` is missing in records of earlier versions
  return record?.replaced?.includes(rank)
    ? trans.__(
        'Rank %1 has been replaced by a new process, so the error can no longer be debugged. Run the cell again.',
        rank
      )
    : '';
}
