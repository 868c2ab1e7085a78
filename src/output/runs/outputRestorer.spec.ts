import { CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { ServerConnection } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { record } from '../../testing/record';
import { KernelRestarts } from './kernelRestarts';
import { OutputRestorer } from './outputRestorer';
import { readRun, RUN_KEY } from './storedRun';

/** A cell without widgets, and its restorer, whose requests for the journal are answered by the test. */
function make() {
  const cell = Object.create(CodeCell.prototype, {
    model: { value: new CodeCellModel({}) }
  }) as CodeCell;
  const answers: ((texts: string[]) => void)[] = [];
  let seq = 0;
  const entry = (text: string): object => ({
    seq: seq++,
    time: 1,
    cell: 'x.1',
    ranks: [0],
    kind: 'stdout',
    text,
    data: null
  });
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://localhost/',
    fetch: () =>
      new Promise(resolve =>
        answers.push(texts =>
          resolve(new Response(JSON.stringify(texts.map(entry))))
        )
      )
  });
  const restarts = new KernelRestarts({
    content: { widgets: [cell] },
    sessionContext: { statusChanged: new Signal({}) } as never
  });
  const restorer = new OutputRestorer(settings, restarts, () => true);
  return { answers, cell, restorer };
}

it('restores the end of a run that arrives while its journal is being read', async () => {
  const { answers, cell, restorer } = make();
  const cluster = makeCluster();
  const runs = record({ state: 'running', ended_at: null });
  const restored = restorer.restore(cell, { record: runs, cluster });
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  await restorer.restore(cell, { record: runs, cluster });
  await restorer.restore(cell, { record: record(), cluster });
  answers[0](['first\n']);
  // with the last record only
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  const { model } = cell;
  expect(model.executionState).toBe('running');
  answers[1](['last\n']);
  await restored;
  expect(answers).toHaveLength(2);
  expect(model.executionState).toBe('idle');
  expect(model.executionCount).toBe(3);
  expect(readRun(model.getMetadata(RUN_KEY))?.state).toBe('done');
  expect(model.outputs.toJSON()).toMatchObject([
    { text: '[0] first\n[0] last\n' }
  ]);
});

it('restores what comes after the user has cleared the output of a run that goes on', async () => {
  const { answers, cell, restorer } = make();
  const cluster = makeCluster();
  const runs = record({ state: 'running', ended_at: null });
  const found = { record: runs, cluster };
  const { model } = cell;
  const answer = async (n: number, texts: string[]): Promise<void> => {
    await vi.waitFor(() => expect(answers).toHaveLength(n + 1));
    answers[n](texts);
  };
  let restored = restorer.restore(cell, found);
  await answer(0, ['a\n', 'b\n']);
  await restored;
  model.outputs.clear();
  expect(await restorer.clear(cell, found)).toBe(1);
  restored = restorer.restore(cell, found);
  await answer(1, ['c\n']);
  await restored;
  expect(model.outputs.toJSON()).toMatchObject([{ text: '[0] c\n' }]);
  // cleared while the journal is being read
  restored = restorer.restore(cell, found);
  await vi.waitFor(() => expect(answers).toHaveLength(3));
  model.outputs.clear();
  expect(await restorer.clear(cell, found)).toBe(2);
  answers[2](['d\n']);
  await answer(3, ['e\n']);
  await restored;
  expect(model.outputs.toJSON()).toMatchObject([{ text: '[0] e\n' }]);
});
