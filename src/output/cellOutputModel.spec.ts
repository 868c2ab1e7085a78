import { CodeCell } from '@jupyterlab/cells';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { KernelRecords } from '../locations/kernelRecords';
import { makeCluster } from '../testing/clusters';
import { makeLiveState } from '../testing/liveState';
import { CellOutputModel, IContext } from './cellOutputModel';
import { IRunStatus } from './runStatus';

/** A cell that this page's kernel was sent, and that has no output. */
function makeCell(): CodeCell {
  const changed = new Signal<object, void>({});
  return {
    outputHidden: false,
    isDisposed: false,
    model: {
      executionCount: null,
      stateChanged: changed,
      metadataChanged: changed,
      outputs: { length: 0, changed },
      sharedModel: { getSource: () => '%%distributed\nx', changed }
    }
  } as unknown as CodeCell;
}

it('says queued only of cells that wait for others of their kernel', () => {
  let isExecuting = false;
  let awaited: IRunStatus['starts'];
  const clusters = makeLiveState();
  const look = vi.spyOn(clusters, 'look').mockReturnValue();
  const model = new CellOutputModel(makeCell(), {
    clusters,
    names: new KernelRecords(),
    awaitedStart: () => awaited,
    commands: new CommandRegistry(),
    trans: nullTranslator.load(''),
    runs: {
      changed: new Signal({}),
      run: () => null,
      recordOf: () => null,
      seenRun: () => null,
      stopOf: () => undefined,
      trims: () => false,
      hasNoEnd: () => false,
      isCopied: () => false,
      isUnknown: () => false,
      isLive: () => true,
      isExecuting: () => isExecuting
    }
  } as unknown as IContext);
  const starts = (): IRunStatus['starts'] => {
    model.choose('together');
    return model.shown?.status.starts;
  };
  awaited = makeCluster({ state: 'starting' });
  expect(starts()).toBeUndefined();
  isExecuting = true;
  expect(starts()).toBe(awaited);
  expect(look).not.toHaveBeenCalled();
  // no frame has told of it: without clusters, the server is seldom asked
  awaited = 'unknown';
  expect(starts()).toBe('unknown');
  expect(look).toHaveBeenCalled();
  model.dispose();
});
