import { CodeCell } from '@jupyterlab/cells';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { KernelRecords } from '../locations/kernelRecords';
import { makeCluster } from '../testing/clusters';
import { makeLiveState } from '../testing/liveState';
import { CellOutputModel, IContext, IShownCell } from './cellOutputModel';
import { IRun } from './runs/storedRun';
import { IRunStatus } from './runStatus';

/** A cell that this page's kernel was sent, and that has no output. */
function makeCell(source = '%%distributed\nx'): CodeCell {
  const changed = new Signal<object, void>({});
  return {
    outputHidden: false,
    isDisposed: false,
    model: {
      executionCount: null,
      stateChanged: changed,
      metadataChanged: changed,
      outputs: { length: 0, changed },
      sharedModel: { getSource: () => source, changed }
    }
  } as unknown as CodeCell;
}

/** The model of a cell; `runs` are the answers of its notebook's runs that differ from those of a cell that runs. */
function modelOf(
  cell: CodeCell,
  runs: Partial<IContext['runs']>,
  more: Partial<IContext> = {}
): CellOutputModel {
  return new CellOutputModel(cell, {
    clusters: makeLiveState(),
    names: new KernelRecords(),
    awaitedStart: () => undefined,
    commands: new CommandRegistry(),
    trans: nullTranslator.load(''),
    ...more,
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
      isExecuting: () => true,
      ...runs
    }
  } as unknown as IContext);
}

it('says queued only of cells that wait for others of their kernel', () => {
  let isExecuting = false;
  let seen: IRun | null = null;
  let awaited: IRunStatus['starts'];
  const clusters = makeLiveState();
  const look = vi.spyOn(clusters, 'look').mockReturnValue();
  const awaitedStart = vi.fn(() => awaited);
  const model = modelOf(
    makeCell('%%distributed --cluster b\nx'),
    { isExecuting: () => isExecuting, seenRun: () => seen },
    { clusters, awaitedStart }
  );
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
  expect(awaitedStart).toHaveBeenLastCalledWith('b');
  // it was queued at a cluster that has ended
  seen = { run: 'r.1', state: 'waiting', ranks: [0] };
  expect(starts()).toBeUndefined();
  model.dispose();
});

it('shows how a cell ended that had printed nothing before its cluster was gone', () => {
  const killed = { code: 'killed', values: {} };
  const run: IRun = { run: 'r.1', state: 'failed', ranks: [0], said: [killed] };
  const shown = (stored: IRun): IShownCell | null => {
    const runs = { run: () => stored, isLive: () => false };
    const model = modelOf(makeCell(), runs);
    model.choose('together');
    model.dispose();
    return model.shown;
  };
  expect(shown({ ...run, silent: true })?.status).toMatchObject({
    state: 'failed',
    said: [killed]
  });
  // a tool has stripped what it had printed
  expect(shown(run)).toBeNull();
});
