import { IDebugger } from '@jupyterlab/debugger';
import { NotebookPanel } from '@jupyterlab/notebook';
import { ToolbarButton } from '@jupyterlab/ui-components';
import { expect, it } from 'vitest';

import { BugPresses } from '../jupyterlab/debugButton';
import { pressDebugButton } from './debugButton';

it('reloads frames once the debugger is on, whether or not presses are queued', async () => {
  for (const queued of [false, true]) {
    const said: string[] = [];
    let turnOn = (): void => undefined;
    const bug = new ToolbarButton({
      onClick: () =>
        new Promise<void>(resolve => {
          said.push('pressed');
          turnOn = resolve;
        }).then(() => void said.push('on'))
    });
    const panel = {
      toolbar: { children: () => [bug], names: () => ['debugger-icon'] }
    } as unknown as NotebookPanel;
    const presses = new BugPresses(() => undefined);
    if (queued) {
      presses.around(panel, press => press());
    }
    const service = {
      restoreState: async () => void said.push('reloaded'),
      hasStoppedThreads: () => false,
      model: { callstack: {} }
    } as unknown as IDebugger;
    const pressed = pressDebugButton(panel, service, {
      idle: async () => void said.push('idle')
    });
    await new Promise(go => setTimeout(go));
    expect(said).toEqual(['pressed']);
    turnOn();
    await pressed;
    expect(said).toEqual(['pressed', 'on', 'idle', 'reloaded']);
    expect(bug.pressed).toBe(true);
    // the next press is JupyterLab's again, or queued
    bug.onClick();
    expect(said.slice(4)).toEqual(['pressed']);
    presses.dispose();
    bug.dispose();
  }
});
