import { Debugger, IDebugger } from '@jupyterlab/debugger';
import { expect, it, vi } from 'vitest';

import { DebuggerService } from '../jupyterlab/debuggerService';
import { IKeptCell, KeptBreakpoints } from './keptBreakpoints';

const LOOP = 'for n in range(9):\n    print(n)';

/** A notebook with breakpoints in a cell and in a file, and JupyterLab's service, which drops them as it stops. */
function made() {
  const model = new Debugger.Model({
    mimeTypeService: null
  } as unknown as ConstructorParameters<typeof Debugger.Model>[0]);
  const config = new Debugger.Config();
  config.setHashParams({
    kernel: 'python3',
    method: 'Murmur2',
    seed: 1
  });
  const folder = (prefix: string): void =>
    config.setTmpFileParams({ kernel: 'python3', prefix, suffix: '.py' });
  folder('/tmp/ipykernel_1/');
  const connection = { path: 'a.ipynb', kernel: { name: 'python3' } };
  const idOf = (text: string): string => config.getCodeId(text, 'python3');
  const updated = vi.fn(async () => {});
  const debug = {
    config,
    model,
    session: { connection },
    getCodeId: idOf,
    updateBreakpoints: updated,
    /** As JupyterLab, which asks the kernel where it keeps cells. */
    restoreState: async () => {}
  };
  const cells: (IKeptCell & { text: string })[] = [
    { key: {}, text: LOOP },
    { key: {}, text: 'x = 1' }
  ];
  const its = debug as unknown as IDebugger;
  const kept = new KeptBreakpoints(
    its,
    new DebuggerService(its, () => undefined),
    () => cells.map(cell => ({ ...cell })),
    error => expect(error).toBeUndefined()
  );
  const point = (line: number): IDebugger.IBreakpoint => ({
    line,
    verified: true
  });
  model.breakpoints.restoreBreakpoints(
    new Map([
      [idOf(LOOP), [point(2)]],
      [idOf('x = 1'), []],
      ['/home/ada/model.py', [point(7)]]
    ])
  );
  const shown = (): string[] =>
    [...model.breakpoints.breakpoints].flatMap(([path, points]) =>
      points.map(({ line }) => `${path}:${line}`)
    );
  const stop = (): Promise<void> => kept.over(async () => model.clear());
  const restore = (turnsOn: boolean): Promise<void> =>
    its.restoreState(turnsOn);
  return {
    debug,
    cells,
    connection,
    folder,
    idOf,
    restore,
    shown,
    stop,
    updated
  };
}

it('has the breakpoints of a debugger that we have turned off again once it is on, and once only', async () => {
  const { debug, idOf, restore, shown, stop, updated } = made();
  const before = [`${idOf(LOOP)}:2`, '/home/ada/model.py:7'];
  await stop();
  await restore(false); // the notebook is queried
  expect(shown()).toEqual([]);
  await restore(true);
  expect(shown()).toEqual(before);
  expect(updated).not.toHaveBeenCalled();
  debug.model.clear(); // the user turns it off
  await restore(true);
  expect(shown()).toEqual([]);
});

it('leaves newer ones alone, set after the debugger was turned on elsewhere', async () => {
  const { debug, restore, shown, stop } = made();
  await stop();
  const newer = new Map([['/home/ada/data.py', [{ line: 1, verified: true }]]]);
  debug.model.breakpoints.restoreBreakpoints(newer);
  await restore(true);
  expect(shown()).toEqual(['/home/ada/data.py:1']);
  debug.model.clear();
  await restore(true);
  expect(shown()).toEqual([]);
});

it('has them also with another kernel, but not in another notebook', async () => {
  const { connection, debug, folder, idOf, restore, shown, stop } = made();
  const before = idOf(LOOP);
  await stop();
  connection.path = 'b.ipynb';
  await restore(true);
  expect(shown()).toEqual([]);
  connection.path = 'a.ipynb';
  folder('/tmp/ipykernel_2/');
  await restore(true);
  expect(shown()).toContain(`${before}:2`);
  // from which JupyterLab moves them to that of the kernel
  expect(debug.config.getTmpFileParams('python3')?.prefix).toBe(
    '/tmp/ipykernel_1/'
  );
});

it('moves those of a cell that was edited meanwhile', async () => {
  const { cells, restore, shown, stop, updated } = made();
  await stop();
  cells[0].text = `import time\n${LOOP}`;
  await restore(true);
  expect(shown()).toEqual(['/home/ada/model.py:7']);
  expect(updated).toHaveBeenCalledExactlyOnceWith(cells[0].text, [
    { line: 3, verified: true }
  ]);
});
