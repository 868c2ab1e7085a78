import { NotebookPanel } from '@jupyterlab/notebook';
import { expect, it } from 'vitest';

import { kernelPath } from './kernelPath';

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
