import { CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { forCellsOfRanks } from './cellViews';
import { RUN_KEY } from './runs/storedRun';

function makeCell(source: string): CodeCell {
  const model = new CodeCellModel({});
  model.sharedModel.setSource(source);
  return Object.create(CodeCell.prototype, {
    disposed: { value: new Signal({}) },
    model: { value: model },
    ready: { value: Promise.resolve() }
  }) as CodeCell;
}

it('is called for cells of ranks, from when they are such, and once for each', async () => {
  const magic = makeCell('%%distributed\nprint(1)');
  const plain = makeCell('print(1)');
  const stored = makeCell('print(2)');
  const widgets = [magic, plain, stored];
  const cells = { changed: new Signal<object, void>({}) };
  const content = { disposed: new Signal<object, void>({}), widgets };
  const panel = {
    content,
    context: { ready: Promise.resolve(), model: { cells } }
  } as unknown as NotebookPanel;
  const shown: CodeCell[] = [];
  const shows = (...all: CodeCell[]): Promise<void> =>
    vi.waitFor(() => expect(shown).toEqual(all));
  await forCellsOfRanks(panel, cell => shown.push(cell));
  await shows(magic);
  plain.model.sharedModel.setSource('%%distributed 0\nprint(1)');
  await shows(magic, plain);
  stored.model.setMetadata(RUN_KEY, { run: 'r', state: 'done', ranks: [0] });
  await shows(magic, plain, stored);
  const added = makeCell('%%distributed');
  widgets.push(added);
  cells.changed.emit();
  plain.model.sharedModel.setSource('%%distributed 1\nprint(1)');
  stored.model.setMetadata(RUN_KEY, { run: 's', state: 'done', ranks: [0] });
  await shows(magic, plain, stored, added);
  // the model stays if another view of the notebook is open
  content.disposed.emit();
  widgets.push(makeCell('%%distributed'));
  cells.changed.emit();
  await new Promise(go => setTimeout(go));
  await shows(magic, plain, stored, added);
});
