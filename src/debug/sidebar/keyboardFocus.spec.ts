import { afterEach, beforeEach, expect, it } from 'vitest';

import { KeyboardFocus } from './keyboardFocus';

let section: HTMLElement;
let first: HTMLButtonElement;
let second: HTMLButtonElement;
let notebook: HTMLButtonElement;
let other: HTMLButtonElement;
let guard: KeyboardFocus;

beforeEach(() => {
  section = document.createElement('div');
  [first, second, notebook] = [0, 1, 2].map(() =>
    document.createElement('button')
  );
  section.append(first, second);
  const panel = document.createElement('div');
  panel.className = 'jp-MainAreaWidget';
  panel.append(notebook);
  other = document.createElement('button');
  document.body.append(section, panel, other);
  guard = new KeyboardFocus(section);
});

afterEach(() => {
  guard.dispose();
  document.body.replaceChildren();
});

function press(key: string, more: KeyboardEventInit = {}): void {
  document.activeElement?.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, ...more })
  );
}

const frame = (): Promise<number> => new Promise(requestAnimationFrame);

it('comes back where a key has just been pressed', async () => {
  first.focus();
  press('Enter');
  notebook.focus();
  await frame();
  expect(document.activeElement).toBe(first);
});

it.each<[string, KeyboardEventInit]>([
  ['Tab', {}],
  ['Escape', {}],
  ['m', { ctrlKey: true }]
])('goes where %s leads', async (key, more) => {
  first.focus();
  press(key, more);
  notebook.focus();
  await frame();
  expect(document.activeElement).toBe(notebook);
});

it('goes where the mouse leads, and where nobody has pressed a key', async () => {
  first.focus();
  notebook.focus();
  await frame();
  expect(document.activeElement).toBe(notebook);
  first.focus();
  press('Enter');
  notebook.dispatchEvent(new MouseEvent('pointerdown', { bubbles: true }));
  notebook.focus();
  await frame();
  expect(document.activeElement).toBe(notebook);
});

it('stays with what it moved to within the section', async () => {
  first.focus();
  press('ArrowRight');
  second.focus();
  notebook.focus();
  await frame();
  expect(document.activeElement).toBe(second);
});

it('goes to another part of the sidebar', async () => {
  first.focus();
  press('Enter');
  other.focus();
  await frame();
  expect(document.activeElement).toBe(other);
});

it('leaves the focus alone once the section is gone', async () => {
  first.focus();
  press('Enter');
  guard.dispose();
  notebook.focus();
  await frame();
  expect(document.activeElement).toBe(notebook);
});
