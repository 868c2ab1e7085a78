import { Debugger } from '@jupyterlab/debugger';
import { CommandRegistry } from '@lumino/commands';
import { Panel } from '@lumino/widgets';
import { expect, it, vi } from 'vitest';

import { heightOfRows, partsOf } from './debuggerSidebar';

type Options = ConstructorParameters<typeof Debugger.Sidebar>[0];

function makeSidebar(): Debugger.Sidebar {
  const registry = new CommandRegistry();
  const [command] = ['test:none'];
  return new Debugger.Sidebar({
    service: new Debugger.Service({ config: new Debugger.Config() }),
    callstackCommands: {
      registry,
      continue: command,
      terminate: command,
      next: command,
      stepIn: command,
      stepOut: command,
      evaluate: command
    },
    breakpointsCommands: { registry, pauseOnExceptions: command },
    editorServices: {} as Options['editorServices']
  });
}

it("finds the parts of JupyterLab's sidebar", () => {
  const sidebar = makeSidebar();
  const parts = partsOf(sidebar, name => {
    throw new Error(`JupyterLab has ${name}`);
  });
  expect(parts.content?.widgets).toContain(parts.breakpoints);
  expect(parts.variables?.title.label).toBe('Variables');
  expect(parts.callstack?.title.label).toBe('Callstack');
  expect(heightOfRows(parts.breakpoints!)).toBe(0);
  expect(parts.sources).toBeNull();
  const sources = new Panel() as typeof sidebar.sources;
  vi.spyOn(sidebar, 'sources', 'get').mockReturnValue(sources);
  expect(partsOf(sidebar, vi.fn()).sources).toBe(sources);
});

it('names what another sidebar lacks', () => {
  const report = vi.fn();
  const parts = partsOf(new Panel(), report);
  expect(Object.values(parts)).toEqual(Array(6).fill(null));
  expect(report.mock.calls).toEqual([['Debugger.Sidebar']]);
});
