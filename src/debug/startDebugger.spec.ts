import { NotebookPanel } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { KernelRecords } from '../locations/kernelRecords';
import { makeCluster, makeRank } from '../testing/clusters';
import { IKernelDebugger } from './debugButton';
import { turnOffOthers } from './startDebugger';

const trans = nullTranslator.load('');

function makePanel(path: string, debugging: IKernelDebugger): NotebookPanel {
  const done = Promise.resolve({ content: { body: debugging } });
  const kernel = { requestDebug: () => ({ done }) };
  return {
    context: { path },
    sessionContext: { session: { kernel } }
  } as unknown as NotebookPanel;
}

/** Debug a.ipynb, whose cluster b.ipynb uses, too, while its rank 1 is paused, or is in another state. */
async function debugBeside(
  other: IKernelDebugger,
  state: 'paused' | 'idle' = 'paused'
): Promise<void> {
  const [own, beside] = [
    makePanel('a.ipynb', { isStarted: true, holdsRanks: true }),
    makePanel('b.ipynb', other)
  ];
  const tracker = {
    forEach: (look: (panel: NotebookPanel) => void) =>
      [own, beside].forEach(look)
  };
  const ranks = [makeRank(0), makeRank(1, { state })];
  const cluster = makeCluster({ ranks, notebooks: ['a.ipynb', 'b.ipynb'] });
  const parts = { tracker, records: new KernelRecords(), trans };
  await turnOffOthers(
    cluster,
    own,
    parts as unknown as Parameters<typeof turnOffOthers>[2]
  );
}

it('names the notebook in whose debugger ranks are paused', async () => {
  await expect(
    debugBeside({ isStarted: true, holdsRanks: true })
  ).rejects.toThrow('Rank 1 is paused in the debugger of b.ipynb.');
});

it('leaves a debugger alone that was refused the paused ranks', async () => {
  await debugBeside({ isStarted: true, holdsRanks: false });
  await debugBeside({ isStarted: false });
});

it('leaves a debugger on that debugs a job, and none of these ranks', async () => {
  // no bug could be pressed here
  await debugBeside({ isStarted: true, holdsRanks: false }, 'idle');
  await expect(
    debugBeside({ isStarted: true, holdsRanks: true }, 'idle')
  ).rejects.toThrow();
});
