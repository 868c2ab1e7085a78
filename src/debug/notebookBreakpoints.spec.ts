import { Debugger, IDebugger } from '@jupyterlab/debugger';
import { Session } from '@jupyterlab/services';
import { expect, it } from 'vitest';

import { DebuggerService } from '../jupyterlab/debuggerService';
import { NotebookBreakpoints } from './notebookBreakpoints';

/** Two notebooks with the same cell; each kernel has a folder and breakpoints of its own. */
function made() {
  const model = new Debugger.Model({
    mimeTypeService: null
  } as unknown as ConstructorParameters<typeof Debugger.Model>[0]);
  const config = new Debugger.Config();
  const kernels: Record<string, { folder: string; lines: number[] }> = {
    'a.ipynb': { folder: '/tmp/ipykernel_1/', lines: [5] },
    'b.ipynb': { folder: '/tmp/ipykernel_2/', lines: [] }
  };
  const connection = (path: string): Session.ISessionConnection =>
    ({ path, kernel: { name: 'python3' } }) as Session.ISessionConnection;
  const debug = {
    config,
    model,
    session: { connection: null as Session.ISessionConnection | null },
    /** As JupyterLab: those of its model and those of the kernel, in the kernel's folder. */
    restoreState: async () => {
      const { path } = debug.session.connection!;
      const { folder, lines } = kernels[path];
      const before = config.getTmpFileParams('python3')?.prefix;
      config.setTmpFileParams({
        kernel: 'python3',
        prefix: folder,
        suffix: '.py'
      });
      const known = model.breakpoints.breakpoints.values();
      const names = [...model.breakpoints.breakpoints.keys()];
      const name = names[0]?.replace(before ?? '', folder) ?? `${folder}7.py`;
      const shown = new Set([...known].flat().map(point => point.line!));
      lines.forEach(line => shown.add(line));
      kernels[path].lines = [...shown];
      model.breakpoints.restoreBreakpoints(
        new Map(
          shown.size
            ? [[name, [...shown].map(line => ({ line, verified: true }))]]
            : []
        )
      );
    }
  };
  const its = debug as unknown as IDebugger;
  new NotebookBreakpoints(its, new DebuggerService(its, () => undefined));
  const shown = (): string[] =>
    [...model.breakpoints.breakpoints].flatMap(([path, points]) =>
      points.map(({ line }) => `${path}:${line}`)
    );
  const to = async (one: Session.ISessionConnection): Promise<string[]> => {
    debug.session.connection = one;
    await debug.restoreState();
    return shown();
  };
  return { a: connection('a.ipynb'), b: connection('b.ipynb'), to, kernels };
}

it("keeps a notebook's breakpoints out of a copy of it", async () => {
  const { a, b, to, kernels } = made();
  const [its] = await to(a);
  expect(its).toBe('/tmp/ipykernel_1/7.py:5');
  expect(await to(b)).toEqual([]);
  expect(kernels['b.ipynb'].lines).toEqual([]);
  expect(await to(a)).toEqual([its]);
  expect(await to(a)).toEqual([its]);
});

it('gives them to the new kernel of the same notebook, also if it started meanwhile', async () => {
  const { a, b, to, kernels } = made();
  await to(a);
  await to(b);
  kernels['a.ipynb'] = { folder: '/tmp/ipykernel_3/', lines: [] };
  expect(await to(a)).toEqual(['/tmp/ipykernel_3/7.py:5']);
  const again = { ...a } as Session.ISessionConnection; // of a kernel that was shut down and started
  kernels['a.ipynb'] = { folder: '/tmp/ipykernel_4/', lines: [] };
  expect(await to(again)).toEqual(['/tmp/ipykernel_4/7.py:5']);
});
