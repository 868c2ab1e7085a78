import { Notification } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { openNotebookOf } from '../places/open';
import { Advice, Cluster } from '../tokens';
import { TOAST_MS } from '../ui/action';

/** Lines of one part of a unified diff, before and after. */
interface IPart {
  before: string[];
  after: string[];
}

/** The parts of a unified diff. */
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
 * Apply a unified diff to a cell; null where its lines aren't there.
 *
 * Line numbers of the diff don't count: the cell may have lines above, such as its magic.
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

/** Put a change that advice suggests into its cell, in a notebook of the cluster; undo takes it back. */
export function keepChange(
  cluster: Cluster,
  advice: Advice,
  tracker: INotebookTracker,
  trans: TranslationBundle
): void {
  for (const notebook of cluster.notebooks) {
    const panel = openNotebookOf(tracker, notebook);
    for (const [index, { model }] of (panel?.content.widgets ?? []).entries()) {
      const source = applied(model.sharedModel.getSource(), advice.diff);
      if (panel && model.type === 'code' && source !== null) {
        model.sharedModel.setSource(source);
        panel.content.activeCellIndex = index;
        void panel.content.scrollToItem(index, 'smart');
        Notification.success(
          trans.__(
            'The change is in %1. Run the cell again.',
            panel.title.label
          ),
          { autoClose: TOAST_MS }
        );
        return;
      }
    }
  }
  Notification.warning(
    trans.__(
      'The cell isn’t in an open notebook any more as it ran. Show the change, and copy its lines.'
    ),
    { autoClose: TOAST_MS }
  );
}
