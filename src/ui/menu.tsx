import { MenuSvg } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import React from 'react';

/** A command in a menu, with its arguments. */
export interface IMenuItem {
  command: string;
  args: ReadonlyJSONObject;
}

/** Open a menu of commands at a position of the window; it is disposed when it closes. */
export function openMenu(
  commands: CommandRegistry,
  items: readonly IMenuItem[],
  x: number,
  y: number
): void {
  const menu = new MenuSvg({ commands });
  items.forEach(item => menu.addItem(item));
  disposeWhenClosed(menu);
  menu.open(x, y);
}

/** Dispose of a menu when it closes, and return the focus to where it was before; call it before it opens. */
export function disposeWhenClosed(menu: MenuSvg): void {
  const before = document.activeElement as HTMLElement | null;
  menu.aboutToClose.connect(() => {
    // before the chosen command runs: a dialog that it opens returns the focus to where it finds it
    before?.focus();
    // after the command has run
    requestAnimationFrame(() => menu.dispose());
  });
}

/** Open it at the position of a context menu event: under the pointer, or at the element for Shift+F10. */
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

/** A button with three dots, which opens a menu below itself. */
export function MenuButton(props: {
  /** For screen readers. */
  label: string;
  className: string;
  commands: CommandRegistry;
  /** Called when it is pressed. */
  items: () => readonly IMenuItem[];
}): JSX.Element {
  const { commands, items } = props;
  return (
    <button
      type="button"
      className={props.className}
      aria-haspopup="menu"
      aria-label={props.label}
      onClick={event => {
        const at = event.currentTarget.getBoundingClientRect();
        openMenu(commands, items(), at.left, at.bottom);
      }}
    >
      ⋯
    </button>
  );
}
