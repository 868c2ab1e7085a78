import { JupyterFrontEnd } from '@jupyterlab/application';
import { TranslationBundle } from '@jupyterlab/translation';

import { panelIn } from '../locations/visibility';
import { ILiveState } from '../tokens';
import { needsAttention } from '../verdicts/sentence';
import { statusText, stuckJobs } from './texts';

const CLASS = 'jp-DtrainStatus-attention';

/** A red dot on the sidebar's tab, labelled with the problem, while a cluster needs attention or a job is stuck. */
export function markTab(
  shell: JupyterFrontEnd.IShell,
  model: ILiveState,
  trans: TranslationBundle
): void {
  let usual: string | null = null;
  model.changed.connect(() => {
    const panel = panelIn(shell);
    if (!panel) {
      return;
    }
    const { title } = panel;
    usual ??= title.caption;
    const problem = model.clusters.find(needsAttention);
    const text = problem
      ? statusText(problem, trans)
      : stuckJobs(model.jobs, trans)?.text;
    const classes = title.className.split(' ').filter(c => c && c !== CLASS);
    title.className = [...classes, ...(text ? [CLASS] : [])].join(' ');
    title.caption = text ? trans.__('%1. %2', usual, text) : usual;
  });
}
