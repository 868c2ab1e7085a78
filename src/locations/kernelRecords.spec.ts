import { NotebookPanel } from '@jupyterlab/notebook';
import { PageConfig } from '@jupyterlab/coreutils';
import { Contents } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { followRenames, KernelRecords } from './kernelRecords';

it('knows a notebook by its former name while the same kernel runs', () => {
  const records = new KernelRecords();
  const session = { kernel: { id: 'k1' } };
  const context = { path: 'Untitled.ipynb' };
  const panel = {
    context,
    sessionContext: { session }
  } as unknown as NotebookPanel;
  expect(records.kernelPath(panel)).toBe('Untitled.ipynb');
  context.path = 'train.ipynb';
  expect(records.kernelPath(panel)).toBe('Untitled.ipynb');
  session.kernel.id = 'k2';
  expect(records.kernelPath(panel)).toBe('train.ipynb');
});

it('knows a renamed notebook after a reload by what its kernel has recorded', () => {
  const records = new KernelRecords();
  PageConfig.setOption('dtrainRoot', '/home/u/work');
  const context = { path: 'new/train.ipynb' };
  const panel = {
    context,
    sessionContext: { session: { kernel: { id: 'k3' } } }
  } as unknown as NotebookPanel;
  expect(records.lastCluster(panel)).toBeNull();
  records.note('k3', { notebook: '/home/u/work/old.ipynb', cluster: 'c' });
  records.notePath(panel);
  expect(records.kernelPath(panel)).toBe('old.ipynb');
  expect(records.lastCluster(panel)).toBe('c');
  expect(records.currentPath('/home/u/work/old.ipynb')).toBe('new/train.ipynb');
  expect(records.currentPath('old.ipynb')).toBe('new/train.ipynb');
  expect(records.notebookName('/home/u/work/old.ipynb')).toBe('train.ipynb');
  expect(records.notebookName('/home/u/work/other.ipynb')).toBe('other.ipynb');
  context.path = 'old.ipynb';
  records.notePath(panel);
  expect(records.currentPath('/home/u/work/old.ipynb')).toBe(
    '/home/u/work/old.ipynb'
  );
  records.forget('k3');
  expect(records.lastCluster(panel)).toBeNull();
});

it('has the name of now for each name that a notebook had before', () => {
  PageConfig.setOption('dtrainRoot', '/home/u/work');
  const records = new KernelRecords();
  // its kernel was started again after the first rename
  records.noteCurrentPath('a.ipynb', 'b.ipynb');
  records.noteCurrentPath('b.ipynb', 'c.ipynb');
  expect(records.notebookName('/home/u/work/a.ipynb')).toBe('c.ipynb');
  expect(records.notebookName('/home/u/work/b.ipynb')).toBe('c.ipynb');
  records.noteCurrentPath('b.ipynb', 'a.ipynb');
  expect(records.notebookName('/home/u/work/a.ipynb')).toBe('a.ipynb');
  expect(records.notebookName('/home/u/work/b.ipynb')).toBe('a.ipynb');
  // of a server whose root is a link, kernels have other paths
  records.noteCurrentPath('/disk/work/d.ipynb', 'e.ipynb');
  records.noteCurrentPath('/disk/work/d.ipynb', 'd.ipynb');
  expect(records.notebookName('/disk/work/d.ipynb')).toBe('d.ipynb');
});

it('learns the new name of a notebook that is closed, or has no kernel', () => {
  PageConfig.setOption('dtrainRoot', '/home/u/work');
  const records = new KernelRecords();
  const contents = {
    fileChanged: new Signal<object, Contents.IChangedArgs>({})
  };
  followRenames(records, contents as unknown as Contents.IManager);
  const rename = (from: string, to: string): void =>
    contents.fileChanged.emit({
      type: 'rename',
      oldValue: { path: from },
      newValue: { path: to }
    });
  rename('a.ipynb', 'b.ipynb');
  expect(records.notebookName('/home/u/work/a.ipynb')).toBe('b.ipynb');
  rename('b.ipynb', 'sub/c.ipynb');
  expect(records.currentPath('/home/u/work/a.ipynb')).toBe('sub/c.ipynb');
  contents.fileChanged.emit({
    type: 'delete',
    oldValue: { path: 'x.ipynb' },
    newValue: null
  });
  expect(records.notebookName('x.ipynb')).toBe('x.ipynb');
});
