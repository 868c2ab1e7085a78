import { INotebookContent } from '@jupyterlab/nbformat';
import { expect, it } from 'vitest';

import { editedSince } from './editedSince';

const cell = (source: string | string[], ...tags: string[]): object => ({
  cell_type: 'code',
  metadata: tags.length ? { tags } : {},
  source
});

const COPY = {
  cells: [
    { cell_type: 'markdown', metadata: {}, source: '# Title' },
    cell('lr = 1\nepochs = 5', 'parameters'),
    cell('# Parameters of this job\nlr = 2', 'injected-parameters'),
    cell(['a = 1\n', 'b = 2']),
    cell('')
  ]
} as unknown as INotebookContent;

it('tells whether a notebook has other code than a job', () => {
  const edited = (...sources: string[]): boolean =>
    editedSince(sources, COPY, { lr: 2 });
  expect(edited('lr = 1\nepochs = 5', 'a = 1\nb = 2')).toBe(false);
  expect(edited('lr = 1\nepochs = 5', ' ', 'a = 1\nb = 2')).toBe(false);
  expect(edited('lr = 1\nepochs = 5', 'a = 1\nb = 3')).toBe(true);
  expect(edited('lr = 1\nepochs = 5', 'a = 1\nb = 2', 'c')).toBe(true);
  expect(edited('lr = 1\nepochs = 5')).toBe(true);
});

it('does not count that the parameters of the job were set in the notebook', () => {
  const edited = (tagged: string): boolean =>
    editedSince([tagged, 'a = 1\nb = 2'], COPY, { lr: 2 });
  expect(edited('lr = 2\nepochs = 5')).toBe(false);
  expect(edited('lr = 3\nepochs = 5')).toBe(true);
});
