import { PageConfig } from '@jupyterlab/coreutils';
import { NotebookPanel } from '@jupyterlab/notebook';
import { expect, it } from 'vitest';

import { kernelPath } from '../places/kernelPath';
import { makeCluster } from '../testing/clusters';
import { attachedTo } from './attached';

it('tells notebooks of one name in two folders apart', () => {
  PageConfig.setOption('serverRoot', '~/work');
  PageConfig.setOption('dtrainRoot', '/home/u/work');
  const a = makeCluster({
    id: 'a',
    notebooks: ['/home/u/work/1/Untitled.ipynb']
  });
  const b = makeCluster({
    id: 'b',
    notebooks: ['/home/u/work/2/Untitled.ipynb']
  });
  expect(attachedTo([a, b], '1/Untitled.ipynb')?.id).toBe('a');
  expect(attachedTo([a, b], '2/Untitled.ipynb')?.id).toBe('b');
  expect(attachedTo([a, b], '3/Untitled.ipynb')).toBeNull();
});

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
