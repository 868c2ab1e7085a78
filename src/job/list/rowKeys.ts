import { CommandRegistry } from '@lumino/commands';
import React, { useLayoutEffect, useRef } from 'react';

import { CommandIDs } from '../../commands';
import { moveFocus } from '../../ui/rovingFocus';

/** What is focused of a row: the name, which opens it. */
const NAMES = '.jp-DtrainUi-name';
const ROWS = 'tr[data-job], tr[data-sweep]';

/** A row that was focused, or whose menu was opened. */
interface IPlace {
  row: Element;
  index: number;
}

/** Handlers and reference of the rows' parent. */
export interface IRowKeys {
  ref: React.RefObject<HTMLTableSectionElement>;
  onClick(event: React.MouseEvent<HTMLElement>): void;
  onFocus(event: React.SyntheticEvent<HTMLElement>): void;
  onContextMenuCapture(event: React.SyntheticEvent<HTMLElement>): void;
  onKeyDown(event: React.KeyboardEvent<HTMLElement>): void;
}

/**
 * Clicks and keys of the list: a click anywhere in a row opens it, as its name does; arrows, Home and End move between rows, Delete asks to delete the focused one. Once a row is gone
 * that had the focus, the next one gets the focus.
 */
export function useRowKeys(commands: CommandRegistry): IRowKeys {
  const ref = useRef<HTMLTableSectionElement>(null);
  const last = useRef<IPlace | null>(null);
  const remember = (event: React.SyntheticEvent<HTMLElement>): void => {
    const row = (event.target as Element).closest(ROWS);
    const index = [...event.currentTarget.querySelectorAll(ROWS)].indexOf(row!);
    last.current = row && { row, index };
  };
  useLayoutEffect(() => {
    const { current: place } = last;
    if (place && !place.row.isConnected) {
      last.current = null;
      focusNear(ref.current, place.index);
    }
  });
  return {
    ref,
    onClick: openRow,
    onFocus: remember,
    // a row itself stops the event: it opens its menu
    onContextMenuCapture: remember,
    onKeyDown: event => {
      const names = event.currentTarget.querySelectorAll<HTMLElement>(NAMES);
      if (!moveFocus(event, [...names]) && event.key === 'Delete') {
        event.preventDefault();
        askToDelete(event.target as Element, commands);
      }
    }
  };
}

/** Open the row that was clicked, except at its own buttons, and where its text was selected. */
function openRow(event: React.MouseEvent<HTMLElement>): void {
  const target = event.target as Element;
  if (!target.closest('button, a') && document.getSelection()?.isCollapsed) {
    target.closest(ROWS)?.querySelector<HTMLElement>(NAMES)?.click();
  }
}

/** Focus the row that is now at an index, unless the user is somewhere else meanwhile. */
function focusNear(body: HTMLTableSectionElement | null, index: number): void {
  const { activeElement } = document;
  const nowhere = !activeElement || activeElement.contains(body);
  const names = body?.querySelectorAll<HTMLElement>(NAMES) ?? [];
  if (nowhere && names.length) {
    names[Math.min(index, names.length - 1)].focus();
  }
}

/** Ask whether to delete the job or the sweep of a row; the command refuses where this is not possible. */
function askToDelete(target: Element, commands: CommandRegistry): void {
  const row = target.closest<HTMLElement>(ROWS);
  const { job, sweep, may } = row?.dataset ?? {};
  const name = row?.querySelector(NAMES)?.textContent ?? '';
  const command = job ? CommandIDs.deleteJob : CommandIDs.deleteSweep;
  const id = job ?? sweep;
  if (id && may === 'delete' && commands.hasCommand(command)) {
    void commands.execute(command, { id, name });
  }
}
