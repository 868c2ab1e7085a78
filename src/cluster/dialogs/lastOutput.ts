import { Dialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { Cluster, Output } from '../../tokens';
import { openDialog } from '../../ui/dialog';

/** Maximum number of displayed last lines. */
const LINES = 40;

/** The last lines that a rank printed, oldest first. */
export function lastLines(outputs: readonly Output[], rank: number): string[] {
  const text = outputs
    .filter(o => o.ranks.includes(rank) && o.text !== null)
    .map(o => o.text)
    .join('');
  const lines = text.split('\n');
  return (lines[lines.length - 1] ? lines : lines.slice(0, -1)).slice(-LINES);
}

/** Show what lost ranks printed last. */
export async function showLastOutput(
  cluster: Cluster,
  outputs: readonly Output[],
  trans: TranslationBundle
): Promise<void> {
  const body = new Widget();
  body.addClass('jp-DtrainCluster-stacks');
  for (const { rank } of cluster.lost) {
    const title = document.createElement('h3');
    title.textContent = trans.__('Rank %1', rank);
    const pre = document.createElement('pre');
    const lines = lastLines(outputs, rank);
    pre.tabIndex = 0;
    pre.textContent = lines.join('\n') || trans.__('It printed nothing.');
    body.node.append(title, pre);
  }
  const shown = openDialog({
    title: trans.__('Last output: %1', cluster.name),
    body,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
  // the latest output is the most relevant
  requestAnimationFrame(() => {
    body.node.querySelectorAll('pre').forEach(pre => {
      pre.scrollTop = pre.scrollHeight;
    });
    body.node.scrollTop = body.node.scrollHeight;
  });
  await shown;
}
