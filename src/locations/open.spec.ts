import { NotebookPanel } from '@jupyterlab/notebook';
import { expect, it, vi } from 'vitest';

import { goToCell, indexIn } from './open';

interface IEditor {
  at: { line: number; column: number } | null;
  isFocused: boolean;
}

/** A notebook with these cells; `scroll` answers when it is asked to scroll. */
function makeNotebook(
  cells: readonly { id: string; type?: string; count?: number }[],
  scroll: () => Promise<void> = async () => undefined
): {
  panel: NotebookPanel;
  content: { activeCellIndex: number; mode: string };
  editors: IEditor[];
} {
  const editors: IEditor[] = cells.map(() => ({ at: null, isFocused: false }));
  const content = {
    widgets: cells.map(({ id, type = 'code', count = null }, i) => ({
      model: { id, type, executionCount: count },
      ready: Promise.resolve(),
      editor: {
        lineCount: 4,
        setCursorPosition: (at: IEditor['at']) => {
          editors[i].at = at;
        },
        focus: () => {
          editors[i].isFocused = true;
        },
        revealPosition: () => undefined
      }
    })),
    activeCellIndex: 0,
    mode: 'command',
    deselectAll: () => undefined,
    scrollToItem: scroll
  };
  return {
    panel: { content } as unknown as NotebookPanel,
    content,
    editors
  };
}

it('finds the cell of an error by its id, also where cells were added above it', () => {
  const { panel } = makeNotebook([
    { id: 'new' },
    { id: 'text', type: 'markdown' },
    { id: 'a' },
    { id: 'b' }
  ]);
  const find = (cell: string, cell_id?: string): number =>
    indexIn(panel, { cell, cell_id }, true);
  expect(find('[2]', 'b')).toBe(3);
  expect(find('[2]', 'gone')).toBe(2);
  expect(find('[1]')).toBe(0);
});

it('goes to a line of a cell, or only to the cell', async () => {
  const { panel, content, editors } = makeNotebook([{ id: 'a' }, { id: 'b' }]);
  await goToCell(panel, 1);
  expect(content).toMatchObject({ activeCellIndex: 1, mode: 'command' });
  expect(editors[1]).toEqual({ at: null, isFocused: false });
  await goToCell(panel, 0, 3);
  expect(content).toMatchObject({ activeCellIndex: 0, mode: 'edit' });
  expect(editors[0]).toEqual({ at: { line: 2, column: 0 }, isFocused: true });
  // lines were removed since
  await goToCell(panel, 1, 99);
  expect(editors[1].at).toEqual({ line: 3, column: 0 });
});

it('goes nowhere where the notebook no longer has the cell', async () => {
  const scroll = vi.fn(async () => undefined);
  const { panel, content } = makeNotebook([{ id: 'a' }], scroll);
  await goToCell(panel, -1, 3);
  expect(scroll).not.toHaveBeenCalled();
  expect(content).toMatchObject({ activeCellIndex: 0, mode: 'command' });
});

it('leaves the cursor to the place that was asked for last', async () => {
  const scrolls: { reject: (reason: string) => void; done: () => void }[] = [];
  const { panel, editors } = makeNotebook(
    [{ id: 'a' }, { id: 'b' }],
    () =>
      new Promise((done, reject) => {
        // as JupyterLab does
        scrolls.at(-1)?.reject('Scrolling to a new item is requested.');
        scrolls.push({ done, reject });
      })
  );
  const first = goToCell(panel, 0, 2);
  const second = goToCell(panel, 1, 2);
  scrolls[1].done();
  await Promise.all([first, second]);
  expect(editors.map(e => e.isFocused)).toEqual([false, true]);
});
