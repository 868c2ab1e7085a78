import {
  applyAwarenessUpdate,
  Awareness,
  encodeAwarenessUpdate
} from 'y-protocols/awareness';
import { afterEach, expect, it } from 'vitest';
import { applyUpdate, Doc } from 'yjs';

import { ISharedNotebook, PATIENCE, Writers } from './writer';

/** A page with the notebook; its updates reach the pages that are connected then, as through the server. */
class Page {
  constructor(number: number, all: Page[]) {
    this.ydoc.clientID = number;
    this.awareness = new Awareness(this.ydoc);
    all.push(this);
    this.awareness.on('update', (change: Record<string, number[]>) => {
      const ids = [...change.added, ...change.updated, ...change.removed];
      const update = encodeAwarenessUpdate(this.awareness, ids);
      for (const page of all.filter(p => p !== this)) {
        applyAwarenessUpdate(page.awareness, update, 'server');
      }
    });
    this.ydoc.on('update', (update, origin) => {
      for (const page of all.filter(p => p !== this && origin !== 'server')) {
        applyUpdate(page.ydoc, update, 'server');
      }
    });
    this.writers = new Writers(
      this as unknown as ISharedNotebook, // Yjs types each event's listener
      () => this.moves++,
      () => now
    );
  }

  close(all: Page[]): void {
    this.awareness.setLocalState(null);
    this.writers.dispose();
    this.awareness.destroy();
    all.splice(all.indexOf(this), 1);
  }

  ydoc = new Doc();
  awareness: Awareness;
  writers: Writers;
  moves = 0;
}

let now = 0;
const pages: Page[] = [];
const open = (number: number): Page => new Page(number, pages);
const writing = (request: string | null): number[] =>
  pages.filter(p => p.writers.writes('r', request)).map(p => p.ydoc.clientID);

afterEach(() => {
  [...pages].forEach(page => page.close(pages));
});

it('lets the only page of a notebook write at once', () => {
  expect(new Writers(null, () => undefined).writes('r', null)).toBe(true);
  expect(new Writers({}, () => undefined).writes('r', 'm')).toBe(true);
});

it('lets that page write which has run the cell, and no other one, however long', () => {
  open(1);
  open(2).writers.claim('m');
  expect(writing('m')).toEqual([2]);
  now += 10 * PATIENCE;
  expect(writing('m')).toEqual([2]);
  expect(pages[0].writers.isClaimed('m')).toBe(true);
});

it('tells a page that comes later who writes', () => {
  open(7).writers.claim('m');
  open(3);
  now += 10 * PATIENCE;
  expect(writing('m')).toEqual([7]);
});

it('lets one of those that are left write once the page that ran the cell is closed', () => {
  const ran = open(2);
  const [first] = [open(3), open(5)];
  ran.writers.claim('m');
  expect(writing('m')).toEqual([2]);
  const { moves } = first;
  ran.close(pages);
  expect(first.moves).toBeGreaterThan(moves);
  expect(writing('m')).toEqual([]);
  expect(first.writers.isUnsure('r')).toBe(true);
  now += PATIENCE;
  expect(writing('m')).toEqual([3]);
});

it('waits again when another page has come and gone', () => {
  const page = open(3);
  expect(writing(null)).toEqual([]);
  now += PATIENCE;
  const lower = open(1);
  expect(writing(null)).toEqual([]);
  lower.close(pages);
  expect(page.writers.writes('r', null)).toBe(false);
  now += PATIENCE;
  expect(writing(null)).toEqual([3]);
});

it('does not count pages without this extension', () => {
  const foreign = open(1);
  foreign.writers.dispose();
  foreign.awareness.setLocalState({ user: 'ann' });
  open(2);
  expect(pages[1].writers.writes('r', null)).toBe(false);
  now += PATIENCE;
  expect(pages[1].writers.writes('r', null)).toBe(true);
});

it('knows what another page has changed from what its own has', () => {
  const [here, there] = [open(1), open(2)];
  const seen: boolean[] = [];
  here.ydoc.getMap('cell').observe(() => seen.push(here.writers.isForeign));
  there.ydoc.getMap('cell').set('outputs', 0);
  here.ydoc.getMap('cell').set('outputs', 1);
  expect(seen).toEqual([true, false]);
  expect(here.writers.isForeign).toBe(false);
});
