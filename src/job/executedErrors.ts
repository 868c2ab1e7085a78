import {
  ICodeCell,
  IError,
  INotebookContent,
  IOutput,
  isCode,
  isError
} from '@jupyterlab/nbformat';
import { TranslationBundle } from '@jupyterlab/translation';

import { JobError } from '../tokens';
import { followsFrom } from './log/causedErrors';
import { placeOf } from './log/tracebacks';
import { isInserted } from './model/editedSince';

/**
 * A job's notebook with the error that ended the job, below the cell in which another rank has failed, and above what
 * follows from it.
 *
 * The notebook has rank 0's output only: it may look as if all had gone well, or show the lost connection alone.
 *
 * @param error - that of another rank than 0
 */
export function withCause(
  content: INotebookContent,
  error: JobError,
  trans: TranslationBundle
): INotebookContent {
  const failed = failedCell(content, error);
  return withOutputs(content, (outputs, cell) => {
    const marked = outputs.map(output =>
      isConsequence(output) ? withLabel(output, error, trans) : output
    );
    if (cell !== failed) {
      return marked;
    }
    const first = outputs.findIndex(isConsequence);
    const at = first < 0 ? outputs.length : first;
    const cause = causeOutput(error, trans);
    return [...marked.slice(0, at), cause, ...marked.slice(at)];
  });
}

/** A job's notebook whose tracebacks name cells as the log does: "cell [5], line 5", without the file's name. */
export function withPlaces(
  content: INotebookContent,
  trans: TranslationBundle
): INotebookContent {
  const named = (line: string): string => {
    const place = placeOf(line);
    return place
      ? place.before +
          trans.__('cell %1, line %2', place.cell, place.line) +
          place.after
      : line;
  };
  return withOutputs(content, outputs =>
    outputs.map(output =>
      isError(output)
        ? { ...output, traceback: output.traceback.map(named) }
        : output
    )
  );
}

function withOutputs(
  content: INotebookContent,
  change: (outputs: readonly IOutput[], cell: ICodeCell) => IOutput[]
): INotebookContent {
  const cells = content.cells.map(cell =>
    isCode(cell) ? { ...cell, outputs: change(cell.outputs, cell) } : cell
  );
  return { ...content, cells };
}

/** The error of another rank as an output: which rank it was, then its traceback. */
function causeOutput(error: JobError, trans: TranslationBundle): IError {
  const { rank, type, message, traceback } = error;
  const said = trans.__(
    'Rank %1 failed in this cell, which ended the job. All other output is of rank 0.',
    rank
  );
  return {
    output_type: 'error',
    ename: type,
    evalue: message,
    traceback: [
      said,
      ...(traceback.length ? traceback : [`${type}: ${message}`])
    ]
  };
}

/** Whether an output is an error of rank 0 that only says that another rank has ended. */
function isConsequence(output: IOutput): output is IError {
  return isError(output) && followsFrom(`${output.ename}: ${output.evalue}`);
}

/** An error of rank 0 with its cause above it. */
function withLabel(
  output: IError,
  { rank, signal }: JobError,
  trans: TranslationBundle
): IError {
  const said =
    signal === null
      ? trans.__("Rank 0's error follows from rank %1's error:", rank)
      : trans.__("Rank 0's error follows from the end of rank %1:", rank);
  return { ...output, traceback: [said, ...output.traceback] };
}

/**
 * The cell of an executed notebook in which a job has failed: by its id, or in notebooks without ids by its
 * number, which doesn't count the cell that the submission has inserted.
 */
function failedCell(
  { cells }: INotebookContent,
  { cell, cell_id }: JobError
): ICodeCell | undefined {
  const code = cells.filter(isCode);
  const at = Number(cell?.replace(/[[\]]/g, '')) - 1;
  return (
    code.find(({ id }) => id !== undefined && id === cell_id) ??
    code.filter(one => !isInserted(one))[at]
  );
}
