import { PageConfig } from '@jupyterlab/coreutils';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { expect, it } from 'vitest';

import { KernelRecords } from './kernelRecords';
import { notebookInView } from './visibility';

it('knows a notebook in view by the path that its kernel has', () => {
  PageConfig.setOption('serverRoot', '/home/u/work');
  const panel = (path: string, isVisible: boolean): NotebookPanel =>
    ({ context: { path }, isVisible }) as unknown as NotebookPanel;
  const records = new KernelRecords();
  const open = [panel('a/train.ipynb', true), panel('b.ipynb', false)];
  const tracker = {
    forEach: (each: (p: NotebookPanel) => void) => open.forEach(each)
  } as unknown as INotebookTracker;
  expect(notebookInView(tracker, '/home/u/work/a/train.ipynb', records)).toBe(
    true
  );
  expect(notebookInView(tracker, '/home/u/work/b.ipynb', records)).toBe(false);
  expect(notebookInView(tracker, '/home/u/work/train.ipynb', records)).toBe(
    false
  );
  expect(notebookInView(null, '/home/u/work/a/train.ipynb', records)).toBe(
    false
  );
});
