import { TranslationBundle } from '@jupyterlab/translation';

import { JobPlan } from '../../tokens';
import { formatSize } from '../../metrics/format';
import { ownFile } from '../model/ownFiles';
import { IMark } from './code';

/** A tab of the preview. `fold`: number of generated lines at its beginning. */
export interface ITab {
  key: string;
  label: string;
  /** Its tooltip, where the label is brief. */
  title?: string;
  text: string;
  language: string;
  fold: number;
  marks: readonly IMark[];
  /** Whether its lines have numbers; true by default. */
  numbered?: boolean;
  /** Whether long lines wrap; false by default, as lines of code keep their indentation. */
  wraps?: boolean;
}

/**
 * Tabs with everything that can be inspected before a job runs.
 *
 * @param isTrial - whether it is a trial's plan: a person submits its sweep, not a job like it
 */
export function tabsOf(
  plan: JobPlan,
  trans: TranslationBundle,
  isTrial = false
): ITab[] {
  const text = (name: string): string =>
    plan.files.find(f => f.path === name)?.text ?? '';
  const plain = { fold: 0, marks: [] };
  const nodes = plan.files.filter(f => /^node\.\d+\.sh$/.test(f.path));
  const script = text('code/dtrain_main.py');
  const tabs: ITab[] = [
    {
      ...plain,
      key: 'script',
      label: trans.__('Script'),
      text: script,
      language: 'python',
      fold: beforeCells(script)
    },
    {
      ...plain,
      key: 'job',
      label: trans.__('Job file'),
      text: text('job.sh'),
      language: 'shell',
      marks: marksOf(plan, text('job.sh'))
    },
    ...nodes.map(f => ({
      ...plain,
      key: f.path,
      label: f.path,
      text: f.text ?? '',
      language: 'shell'
    })),
    {
      ...plain,
      key: 'files',
      language: '',
      label: trans.__('Files'),
      title: trans.__('Files to copy'),
      numbered: false,
      text: listed(plan, trans)
    }
  ];
  if (isTrial) {
    return tabs;
  }
  tabs.push({
    ...plain,
    key: 'command',
    label: trans.__('Command'),
    title: trans.__('This job as a command'),
    text: plan.submit ?? '',
    language: 'shell',
    // one line, however many options it has
    numbered: false,
    wraps: true
  });
  if (plan.changes) {
    tabs.push({
      ...plain,
      key: 'changes',
      language: 'diff',
      label: trans.__('Changes'),
      title: trans.__('Since the last job of this notebook'),
      text: plan.changes
    });
  }
  return tabs;
}

/** Each file with its size, and what it is if it isn't a file of the user. */
function listed(plan: JobPlan, trans: TranslationBundle): string {
  const longest = Math.max(0, ...plan.files.map(f => f.path.length));
  return plan.files
    .map(({ bytes, path }) => {
      const size = formatSize(bytes).padStart(10);
      const own = ownFile(path, trans);
      return own
        ? `${size}  ${path.padEnd(longest)}  ${own}`
        : `${size}  ${path}`;
    })
    .join('\n');
}

/** Lines of a script before its first cell. */
export function beforeCells(script: string): number {
  return Math.max(
    0,
    script.split('\n').findIndex(line => line.startsWith('# %% cell '))
  );
}

/** Lines of the job file that the scheduler would refuse. */
function marksOf(plan: JobPlan, job: string): IMark[] {
  const lines = job.split('\n');
  return plan.findings
    .filter(f => f.severity === 'problem' && f.field)
    .map(f => ({
      line: lines.findIndex(line => line.startsWith(`#SBATCH --${f.field}=`)),
      text: f.fix ?? ''
    }))
    .filter(mark => mark.line >= 0);
}
