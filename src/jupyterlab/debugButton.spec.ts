import { NotebookPanel } from '@jupyterlab/notebook';
import { ToolbarButton } from '@jupyterlab/ui-components';
import { expect, it, vi } from 'vitest';

import { BugPresses, bugOf } from './debugButton';
import { CLASSES } from './markup';

type Panel = Pick<NotebookPanel, 'toolbar'>;

/** A toolbar whose bug is not drawn yet. */
function made(...bugs: ToolbarButton[]): Panel {
  const names = (): string[] => bugs.map(() => 'debugger-icon');
  return { toolbar: { children: () => bugs, names } } as unknown as Panel;
}

it('finds the bug before it is drawn, by another name once it is, and in the popup', () => {
  const bug = new ToolbarButton();
  const save = new ToolbarButton();
  let items = [save, bug];
  let names = ['save', 'debugger-icon'];
  const toolbar = { children: () => items, names: () => names };
  const panel = { toolbar } as unknown as Panel;
  expect(bugOf(panel)).toBe(bug);
  [items, names] = [[save], ['save']];
  expect(bugOf(panel)).toBe(bug);
  bug.dispose();
  expect(bugOf(panel)).toBe(undefined);
  const drawn = document.createElement('button');
  drawn.className = CLASSES.bug;
  save.node.append(drawn);
  expect(bugOf(panel)).toBe(save);
});

it('does something around each press, also once JupyterLab has set the action anew', async () => {
  const said: string[] = [];
  const bug = new ToolbarButton({ onClick: () => void said.push('on') });
  const panel = made(bug);
  const presses = new BugPresses(vi.fn());
  const step = async (press: () => Promise<void>): Promise<void> => {
    said.push('queued');
    await press();
  };
  expect(bugOf(panel)).toBe(bug);
  presses.around(panel, step);
  presses.around(panel, step); // the action is ours already
  bug.onClick();
  expect(said).toEqual(['queued', 'on']);
  bug.onClick = () => void said.push('off');
  presses.around(panel, step);
  bug.onClick();
  expect(said.slice(2)).toEqual(['queued', 'off']);
  presses.dispose();
  bug.onClick();
  expect(said.slice(4)).toEqual(['off']);
});

it('leaves an action that JupyterLab has set since, and forgets a closed notebook', () => {
  const said: string[] = [];
  const bug = new ToolbarButton({ onClick: () => void said.push('first') });
  const gone = new ToolbarButton({ onClick: () => void said.push('gone') });
  const presses = new BugPresses(vi.fn());
  presses.around(made(bug), press => press());
  presses.around(made(gone), press => press());
  gone.dispose();
  bug.onClick = () => void said.push('second');
  presses.dispose();
  bug.onClick();
  expect(said).toEqual(['second']);
});

it('names what a button lacks', () => {
  const report = vi.fn();
  const bug = new ToolbarButton();
  Reflect.deleteProperty(bug, '_onClick');
  new BugPresses(report).around(made(bug), press => press());
  expect(report).toHaveBeenCalledWith('ToolbarButton._onClick');
});
