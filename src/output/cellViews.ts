import { CodeCell, ICodeCellModel } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';

import { magicOf } from './runs/cellOutput';
import { readRun, RUN_KEY } from './runs/storedRun';

/** The part of an open notebook that is used. */
type IPanel = Pick<NotebookPanel, 'content' | 'context'>;

/** Whether a cell shows output of ranks: by its magic, or by a run that its notebook has stored. */
function isOfRanks(model: ICodeCellModel): boolean {
  return (
    magicOf(model.sharedModel.getSource()) !== null ||
    readRun(model.getMetadata(RUN_KEY)) !== null
  );
}

/**
 * Call a function once for each code cell of a notebook that shows output of ranks, from when it does so, and has its
 * parts. An edit costs as much as the edited cell is long, however many cells there are.
 */
export async function forCellsOfRanks(
  { content, context }: IPanel,
  show: (cell: CodeCell) => void
): Promise<void> {
  const followed = new WeakSet<CodeCell>();
  const begin = async (cell: CodeCell): Promise<void> => {
    await cell.ready; // a cell that was never in view has no parts yet
    if (!cell.isDisposed) {
      show(cell);
    }
  };
  const follow = (cell: CodeCell): void => {
    followed.add(cell);
    const { model } = cell;
    const look = (): void => {
      if (isOfRanks(model)) {
        model.sharedModel.changed.disconnect(edited);
        model.metadataChanged.disconnect(look);
        void begin(cell);
      }
    };
    const edited = (_: unknown, change: { sourceChange?: unknown }): void => {
      if (change.sourceChange) {
        look();
      }
    };
    model.sharedModel.changed.connect(edited);
    model.metadataChanged.connect(look);
    // the model stays if another view of its notebook is open
    cell.disposed.connect(() => {
      model.sharedModel.changed.disconnect(edited);
      model.metadataChanged.disconnect(look);
    });
    look();
  };
  const followAll = (): void => {
    for (const cell of content.widgets) {
      if (cell instanceof CodeCell && !followed.has(cell)) {
        follow(cell);
      }
    }
  };
  await context.ready;
  if (!content.isDisposed) {
    // the notebook adds widgets for new cells before this is called
    const { cells } = context.model;
    cells.changed.connect(followAll);
    content.disposed.connect(() => cells.changed.disconnect(followAll));
    followAll();
  }
}
