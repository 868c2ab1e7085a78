import {
  ICodeCell,
  IError,
  INotebookContent,
  isCode
} from '@jupyterlab/nbformat';
import { NotebookModel } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { DocumentWidget } from '@jupyterlab/docregistry';
import { Widget } from '@lumino/widgets';
import { expect, it } from 'vitest';

import { IJobs } from '../tokens';
import { closeExecuted, ExecutedDrive, executedPath } from './executedDrive';
import { whyNoJob } from './model/executedPaths';

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
      { executed, get: async () => ({ error: null }) } as unknown as IJobs,
      {} as ServerConnection.ISettings,
      nullTranslator.load('x')
    );
    const { content } = await drive.get('abc/a (night).ipynb');
    const model = new NotebookModel();
    model.fromJSON(content);
    expect(model.dirty).toBe(false);
    expect(model.metadata).toMatchObject(metadata);
    model.dispose();
  }
});

/** Code cells as a drive shows them, of a job that has failed with an error. */
async function shownWith(
  cells: readonly object[],
  error: object
): Promise<ICodeCell[]> {
  const executed = async (): Promise<object> => ({
    cells,
    metadata: {},
    nbformat: 4,
    nbformat_minor: 5
  });
  const drive = new ExecutedDrive(
    { executed, get: async () => ({ error }) } as unknown as IJobs,
    {} as ServerConnection.ISettings,
    nullTranslator.load('x')
  );
  const { content } = await drive.get('abc/a (night).ipynb');
  return (content as INotebookContent).cells.filter(isCode);
}

const CODE = { cell_type: 'code', metadata: {}, outputs: [], source: '' };
const TEXT = { cell_type: 'markdown', metadata: {}, source: '' };
const ERROR = { type: 'KeyError', message: "'lr'", traceback: [] };

it.each([
  ['[2]', 1, [0, 1]],
  ['[1]', 0, [0, 0]],
  [null, 1, [0, 0]]
])(
  'has the error of a rank whose output it lacks, below its cell: %s of rank %s',
  async (cell, rank, errors) => {
    const cells = [TEXT, CODE, TEXT, { ...CODE }];
    const error = { ...ERROR, cell, cell_id: null, rank };
    const shown = await shownWith(cells, error);
    expect(shown.map(one => one.outputs.length)).toEqual(errors);
    const [said] = shown.flatMap(one => one.outputs as IError[]);
    expect(said?.traceback ?? []).toEqual(
      rank && cell
        ? [
            expect.stringMatching(/^Rank 1 failed in this cell/),
            "KeyError: 'lr'"
          ]
        : []
    );
  }
);

it.each(['train', null])(
  'has that error below its cell in a job with parameters, too: id %s',
  async cell_id => {
    const tagged = (tag: string): object => ({ metadata: { tags: [tag] } });
    const ids = cell_id !== null;
    const cells = [
      { ...CODE, ...(ids && { id: 'p' }), ...tagged('parameters') },
      { ...CODE, id: 'injected-parameters', ...tagged('injected-parameters') },
      { ...CODE, ...(ids && { id: 'load' }) },
      { ...CODE, ...(ids && { id: 'train' }) }
    ];
    const error = { ...ERROR, cell: '[3]', cell_id, rank: 1 };
    const shown = await shownWith(cells, error);
    expect(shown.map(one => one.outputs.length)).toEqual([0, 0, 0, 1]);
  }
);

it('shows the error that failed a job above what follows from it on rank 0, and names cells as the log does', async () => {
  const lost = {
    output_type: 'error',
    ename: 'RuntimeError',
    evalue: 'Connection closed by peer [::1]:3',
    traceback: [
      'Traceback (most recent call last):',
      '  File "job.ipynb[1]", line 7, in <module>',
      'RuntimeError: Connection closed by peer [::1]:3'
    ]
  };
  const printed = { output_type: 'stream', name: 'stdout', text: 'epoch 0' };
  const traceback = [
    'Traceback (most recent call last):',
    '  File "job.ipynb[1]", line 5, in <module>',
    "KeyError: 'lr'"
  ];
  const error = {
    ...ERROR,
    traceback,
    cell: '[1]',
    cell_id: null,
    rank: 1,
    signal: null
  };
  const [cell] = await shownWith(
    [{ ...CODE, outputs: [printed, lost] }],
    error
  );
  const [first, cause, consequence] = cell.outputs as IError[];
  expect(cell.outputs).toHaveLength(3);
  expect(first).toEqual(printed);
  expect(cause.traceback).toEqual([
    expect.stringMatching(/^Rank 1 failed in this cell/),
    'Traceback (most recent call last):',
    '  cell [1], line 5, in <module>',
    "KeyError: 'lr'"
  ]);
  expect(consequence.traceback).toEqual([
    "Rank 0's error follows from rank 1's error:",
    'Traceback (most recent call last):',
    '  cell [1], line 7, in <module>',
    'RuntimeError: Connection closed by peer [::1]:3'
  ]);

  // in another cell, rank 0's error is marked, too; an error of its own is not
  const own = { ...lost, ename: 'ValueError', evalue: 'x', traceback: ['x'] };
  const cells = [CODE, { ...CODE, outputs: [own, lost] }];
  const shown = await shownWith(cells, { ...error, signal: 9 });
  expect(shown.map(one => one.outputs.length)).toEqual([1, 2]);
  const [kept, marked] = shown[1].outputs as IError[];
  expect(kept.traceback).toEqual(['x']);
  expect(marked.traceback[0]).toBe(
    "Rank 0's error follows from the end of rank 1:"
  );
});

it('closes with its job, and asks nothing', () => {
  const at = (path: string): Widget =>
    Object.create(DocumentWidget.prototype, {
      context: { value: { path } },
      dispose: { value: () => closed.push(path) }
    }) as Widget;
  const closed: string[] = [];
  const paths = ['dtrain-jobs:abc/a (x).ipynb', 'dtrain-jobs:abcd/b.ipynb'];
  const open = [...paths.map(at), at('abc/a.ipynb'), new Widget()];
  const shell = { widgets: () => open.values() };
  closeExecuted(shell, ['abc', 'none']);
  expect(closed).toEqual([paths[0]]);
});
