import { CommandRegistry } from '@lumino/commands';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import { Menu } from '@lumino/widgets';
import React from 'react';

/** A command in a menu, with its arguments. */
export interface IMenuItem {
  command: string;
  args: ReadonlyJSONObject;
}

/** Open a menu of commands at a place of the window; it is gone once it closes. */
export function openMenu(
  commands: CommandRegistry,
  items: readonly IMenuItem[],
  x: number,
  y: number
): void {
  const menu = new Menu({ commands });
  items.forEach(item => menu.addItem(item));
  menu.aboutToClose.connect(() => {
    // after the command that was chosen has run
    requestAnimationFrame(() => menu.dispose());
  });
  menu.open(x, y);
}

/** Open it where a context menu was asked for: under the pointer, or at the element by Shift+F10. */
export function openContextMenu(
  event: React.MouseEvent<HTMLElement>,
  commands: CommandRegistry,
  items: readonly IMenuItem[]
): void {
  event.preventDefault();
  event.stopPropagation();
  const box = event.currentTarget.getBoundingClientRect();
  const keyboard = event.clientX === 0 && event.clientY === 0;
  openMenu(
    commands,
    items,
    keyboard ? box.left : event.clientX,
    keyboard ? box.bottom : event.clientY
  );
}
