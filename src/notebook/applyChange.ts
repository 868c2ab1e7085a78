import { Notification } from '@jupyterlab/apputils';
import { isCodeCellModel } from '@jupyterlab/cells';
import { INotebookTracker } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { openNotebookOf } from '../locations/open';
import { Advice, Cluster, IAdviceState, IKernelRecords } from '../tokens';
import { tellBriefly, TOAST_MS } from '../ui/text/toast';

/** Lines of one hunk of a unified diff, before and after. */
interface IPart {
  before: string[];
  after: string[];
}

/** The hunks of a unified diff. */
function partsOf(diff: string): IPart[] {
  const parts: IPart[] = [];
  for (const line of diff.split('\n')) {
    if (line.startsWith('@@')) {
      parts.push({ before: [], after: [] });
      continue;
    }
    const part = parts[parts.length - 1];
    if (!part) {
      continue; // the head
    }
    if (!line.startsWith('+')) {
      part.before.push(line.slice(1));
    }
    if (!line.startsWith('-')) {
      part.after.push(line.slice(1));
    }
  }
  return parts;
}

/**
 * Apply a unified diff to a cell; null if its lines aren't there.
 *
 * Line numbers of the diff are ignored: the cell may have lines above, such as its magic.
 */
export function applied(source: string, diff: string): string | null {
  const lines = source.split('\n');
  let from = 0;
  const parts = partsOf(diff);
  for (const { before, after } of parts) {
    const at = lines.findIndex(
      (_, i) => i >= from && before.every((line, k) => lines[i + k] === line)
    );
    if (at < 0) {
      return null;
    }
    lines.splice(at, before.length, ...after);
    from = at + after.length;
  }
  return parts.length ? lines.join('\n') : null;
}

/** A cell of an open notebook. */
interface IOpenCell {
  id: string;
  code: boolean;
  source: string;
}

/**
 * The cell to which a change applies, with its new source; null if that is uncertain.
 *
 * Copies have the same lines, so the cell that ran is used; if the head or the notebook doesn't know it, the
 * only cell that the change fits.
 */
export function targetOf<T extends IOpenCell>(
  cells: readonly T[],
  advice: Advice
): { cell: T; source: string } | null {
  const code = cells.filter(cell => cell.code);
  const ran = code.find(cell => cell.id === advice.values?.cell_id);
  const fitting = (ran ? [ran] : code).flatMap(cell => {
    const source = applied(cell.source, advice.diff);
    return source === null ? [] : [{ cell, source }];
  });
  return fitting.length === 1 ? fitting[0] : null;
}

/** Notebooks to search: the one whose cell ran, or all of the cluster's if it was renamed. */
export function notebooksOf(
  cluster: Pick<Cluster, 'notebooks'>,
  advice: Advice
): readonly string[] {
  const own = cluster.notebooks.filter(
    name => name === advice.values?.notebook
  );
  return own.length ? own : cluster.notebooks;
}

/** Apply a change that advice suggests to its cell, in a notebook of the cluster; undo reverts it. */
export function keepChange(
  cluster: Cluster,
  advice: Advice,
  tracker: INotebookTracker,
  records: IKernelRecords,
  state: IAdviceState,
  trans: TranslationBundle
): void {
  if (state.isKept(cluster.id, advice.diff)) {
    return; // the second click of a double click
  }
  const panels = notebooksOf(cluster, advice)
    .map(notebook => openNotebookOf(tracker, notebook, records))
    .filter(panel => panel !== null);
  const cells = [...new Set(panels)].flatMap(panel =>
    panel.content.widgets.map(({ model }, index) => ({
      panel,
      index,
      model,
      id: model.id,
      code: model.type === 'code',
      source: model.sharedModel.getSource()
    }))
  );
  const target = targetOf(cells, advice);
  if (!target) {
    Notification.warning(
      trans.__(
        'No open notebook has exactly one cell with the code that ran. Show the change, and copy its lines.'
      ),
      { autoClose: TOAST_MS }
    );
    return;
  }
  const { panel, index, model, source } = target.cell;
  const { sharedModel } = model;
  sharedModel.setSource(target.source);
  state.keep(cluster.id, advice.diff, true);
  const undone = (): void => {
    if (sharedModel.getSource() === source) {
      sharedModel.changed.disconnect(undone);
      state.keep(cluster.id, advice.diff, false);
    }
  };
  sharedModel.changed.connect(undone);
  panel.content.activeCellIndex = index;
  void panel.content.scrollToItem(index, 'smart');
  const number = isCodeCellModel(model) ? model.executionCount : null;
  tellBriefly(
    number === null
      ? trans.__('The change is in %1. Run the cell again.', panel.title.label)
      : trans.__(
          'The change is in cell [%1] of %2. Run this cell again, and the cells that use its results.',
          number,
          panel.title.label
        )
  );
}
