import { CommandRegistry } from '@lumino/commands';
import { expect, it } from 'vitest';

import { openMenu } from './menu';

it('has given the focus back when its command runs: a dialog would return it to where it is then', () => {
  const button = document.body.appendChild(document.createElement('button'));
  button.focus();
  const commands = new CommandRegistry();
  let focused: Element | null = null;
  commands.addCommand('stop', {
    label: 'Stop…',
    execute: () => {
      focused = document.activeElement;
    }
  });
  openMenu(commands, [{ command: 'stop', args: {} }], 0, 0);
  button.blur(); // the menu takes the focus
  const node = document.querySelector('.lm-Menu')!;
  for (const [key, keyCode] of [
    ['ArrowDown', 40],
    ['Enter', 13]
  ] as const) {
    node.dispatchEvent(new KeyboardEvent('keydown', { key, keyCode }));
  }
  expect(focused).toBe(button);
});
