import { Dialog } from '@jupyterlab/apputils';
import { INotebookContent } from '@jupyterlab/nbformat';
import { NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { sourcesIn, taggedCell } from '../job/form/notebook';
import {
  defaultsOf,
  differing,
  pythonOf,
  withAssigned
} from '../job/model/assignments';
import { editedSince } from '../job/model/editedSince';
import { Cluster, Job } from '../tokens';
import { openDialog } from '../ui/dialog';

/** Answer to the dialog before a failed job is debugged. */
export interface IAnswer {
  /** Cluster to use; null to start one. */
  cluster: string | null;
}

/** On which clusters cells of a notebook may run. */
interface IWhere {
  /** The notebook's cluster; null if it has none. */
  own: Cluster | null;
  /** The cluster that its next cell runs on; null if that cell would start one. */
  next: Cluster | null;
  /** That other notebooks use that one, too; empty if none does. */
  others: string;
}

/**
 * Ask on which cluster a failed job's cells run, and whether with the job's parameters, which are then set in
 * the notebook. Says so if the notebook was edited since. Doesn't ask what needs no answer.
 *
 * @param copy - the job's copy of the notebook; null if it is not known.
 * @param where - the clusters on which the notebook's cells may run.
 * @returns null if the user doesn't want to debug now.
 */
export async function askHow(
  job: Pick<Job, 'name' | 'world' | 'parameters'>,
  panel: NotebookPanel,
  copy: INotebookContent | null,
  where: IWhere,
  trans: TranslationBundle
): Promise<IAnswer | null> {
  const { own, next } = where;
  const cell = taggedCell(panel);
  const source = cell?.sharedModel.getSource() ?? '';
  const others = differing(defaultsOf(source), job.parameters);
  const differs = Object.keys(others).length > 0;
  const edited =
    copy !== null && editedSince(sourcesIn(panel), copy, job.parameters);
  if (own && !differs && !edited) {
    return { cluster: own.id };
  }
  const use = own ?? next;
  const start = Dialog.createButton({
    label: trans.__('Start a cluster…'),
    accept: !use,
    actions: [START]
  });
  const asked = await openDialog({
    title: trans.__('Debug %1 in a cluster', job.name),
    body: [
      edited &&
        trans.__(
          'The notebook was edited after the job %1 was submitted: its cells run as they are now.',
          job.name
        ),
      !own && whereText(job, where, trans),
      differs && parametersText(others, cell !== null, trans)
    ]
      .filter(Boolean)
      .join(' '),
    checkbox:
      differs && cell
        ? {
            label: trans.__("Set the job's parameters in the notebook"),
            checked: true
          }
        : null,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Not now') }),
      ...(own ? [] : [start]),
      ...(use
        ? [
            Dialog.okButton({
              label: own ? trans.__('Debug') : trans.__('Use %1', use.name)
            })
          ]
        : [])
    ]
  });
  const starts = asked.button.actions.includes(START);
  if (!asked.button.accept && !starts) {
    return null;
  }
  if (asked.isChecked) {
    cell?.sharedModel.setSource(withAssigned(source, others));
  }
  return { cluster: starts ? null : (use?.id ?? null) };
}

const START = 'start';

/** On which cluster cells of a notebook without one run. */
function whereText(
  job: Pick<Job, 'world'>,
  { next, others }: IWhere,
  trans: TranslationBundle
): string {
  if (!next) {
    return trans.__(
      'This notebook has no cluster. Start one to run its cells: where a rank fails, the debugger shows its variables.'
    );
  }
  const there = trans._n(
    'Cells of this notebook would run on %2 (%1 rank; the job had %3).',
    'Cells of this notebook would run on %2 (%1 ranks; the job had %3).',
    next.world.size,
    next.name,
    job.world.size
  );
  const use = trans.__(
    'Use it, or start another: where a rank fails, the debugger shows its variables.'
  );
  return [there, others, use].filter(Boolean).join(' ');
}

/** With which parameters the job ran, where the notebook has others. */
function parametersText(
  others: Readonly<Record<string, unknown>>,
  tagged: boolean,
  trans: TranslationBundle
): string {
  const named = Object.entries(others)
    .map(([name, value]) => `${name} = ${pythonOf(value)}`)
    .join(', ');
  return tagged
    ? trans.__('The job ran with %1; the notebook has other values.', named)
    : trans.__(
        'The job ran with %1; set this before you run the cells.',
        named
      );
}
