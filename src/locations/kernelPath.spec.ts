import { NotebookPanel } from '@jupyterlab/notebook';
import { PageConfig } from '@jupyterlab/coreutils';
import { expect, it } from 'vitest';

import {
  currentPath,
  kernelPath,
  lastCluster,
  notebookName,
  notePath,
  noteKernelUse
} from './kernelPath';

it('knows a notebook by its former name while the same kernel runs', () => {
  const session = { kernel: { id: 'k1' } };
  const context = { path: 'Untitled.ipynb' };
  const panel = {
    context,
    sessionContext: { session }
  } as unknown as NotebookPanel;
  expect(kernelPath(panel)).toBe('Untitled.ipynb');
  context.path = 'train.ipynb';
  expect(kernelPath(panel)).toBe('Untitled.ipynb');
  session.kernel.id = 'k2';
  expect(kernelPath(panel)).toBe('train.ipynb');
});

it('knows a renamed notebook after a reload by what its kernel has recorded', () => {
  PageConfig.setOption('dtrainRoot', '/home/u/work');
  const context = { path: 'new/train.ipynb' };
  const panel = {
    context,
    sessionContext: { session: { kernel: { id: 'k3' } } }
  } as unknown as NotebookPanel;
  expect(lastCluster(panel)).toBeNull();
  noteKernelUse('k3', { notebook: '/home/u/work/old.ipynb', cluster: 'c' });
  notePath(panel);
  expect(kernelPath(panel)).toBe('old.ipynb');
  expect(lastCluster(panel)).toBe('c');
  expect(currentPath('/home/u/work/old.ipynb')).toBe('new/train.ipynb');
  expect(currentPath('old.ipynb')).toBe('new/train.ipynb');
  expect(notebookName('/home/u/work/old.ipynb')).toBe('train.ipynb');
  expect(notebookName('/home/u/work/other.ipynb')).toBe('other.ipynb');
  context.path = 'old.ipynb';
  notePath(panel);
  expect(currentPath('/home/u/work/old.ipynb')).toBe('/home/u/work/old.ipynb');
});
