import { ICell, INotebookContent, MultilineString } from '@jupyterlab/nbformat';

import { defaultsOf, differing, withAssigned } from './assignments';

/**
 * Whether a notebook has other code than a job's copy of it. Empty cells don't count, nor that its tagged cell
 * has the parameters with which the job ran.
 *
 * @param sources - texts of its code cells.
 * @param copy - the executed notebook of the job.
 * @param parameters - of the job.
 */
export function editedSince(
  sources: readonly string[],
  copy: INotebookContent,
  parameters: Readonly<Record<string, unknown>>
): boolean {
  const before = copy.cells.filter(
    cell =>
      cell.cell_type === 'code' &&
      !isInserted(cell) &&
      textOf(cell.source).trim()
  );
  const now = sources.filter(text => text.trim());
  const isSame = ({ source, metadata }: ICell, text: string): boolean => {
    const its = textOf(source);
    return (
      text === its ||
      (tagsOf(metadata).includes('parameters') &&
        text === withAssigned(its, differing(defaultsOf(its), parameters)))
    );
  };
  return (
    before.length !== now.length ||
    before.some((cell, i) => !isSame(cell, now[i]))
  );
}

/**
 * Whether the submission has inserted a cell, for the job's parameters (`rank/output/executed_notebook.py`): the
 * notebook that was submitted has no such cell.
 */
export function isInserted({ metadata }: Pick<ICell, 'metadata'>): boolean {
  return tagsOf(metadata).includes('injected-parameters');
}

function tagsOf({ tags }: { tags?: unknown }): readonly unknown[] {
  return Array.isArray(tags) ? tags : [];
}

function textOf(source: MultilineString): string {
  return typeof source === 'string' ? source : source.join('');
}
