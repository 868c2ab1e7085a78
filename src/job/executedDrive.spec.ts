import { INotebookContent } from '@jupyterlab/nbformat';
import { NotebookModel } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { IJobs } from '../tokens';
import { ExecutedDrive, executedPath, whyNoJob } from './executedDrive';

it('tells an executed notebook from its own, in any alphabet', () => {
  const job = { id: 'abc', name: 'Größe 5', notebook: 'books/Größe π.ipynb' };
  expect(executedPath(job)).toBe('dtrain-jobs:abc/Größe π (Größe 5).ipynb');
});

it('is not submitted itself, with a reason', () => {
  const trans = nullTranslator.load('x');
  const job = { id: 'abc', name: 'night', notebook: 'a.ipynb' };
  expect(whyNoJob(executedPath(job), trans)).toMatch(/^A job wrote/);
  expect(whyNoJob('a.ipynb', trans)).toBeNull();
  expect(whyNoJob(null, trans)).toBeNull();
});

it('opens as unmodified if its notebook was never open in JupyterLab', async () => {
  const cell = {
    cell_type: 'code',
    id: '1c88b240',
    execution_count: 1,
    metadata: {},
    outputs: [],
    source: 'print(rank)'
  };
  const kernelspec = { name: 'ours', display_name: 'Ours' };
  for (const metadata of [{}, { kernelspec }]) {
    const made = { cells: [cell], metadata, nbformat: 4, nbformat_minor: 5 };
    const executed = async (): Promise<INotebookContent> => made;
    const drive = new ExecutedDrive(
      { executed } as unknown as IJobs,
      {} as ServerConnection.ISettings
    );
    const { content } = await drive.get('abc/a (night).ipynb');
    const model = new NotebookModel();
    model.fromJSON(content);
    expect(model.dirty).toBe(false);
    expect(model.metadata).toMatchObject(metadata);
    model.dispose();
  }
});
