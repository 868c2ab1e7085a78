import { MessageLoop } from '@lumino/messaging';
import { afterEach, expect, it, vi } from 'vitest';

import { makeCluster, makeRank } from '../testing/clusters';
import { panel, show, text } from '../testing/panel';

afterEach(() => {
  panel.dispose();
});

it('moves through ranks with the arrow keys and opens one with Enter', async () => {
  show([makeCluster()]);
  await text('Ready.');
  const row = (): HTMLElement => panel.node.querySelector('[data-rank="0"]')!;
  row().focus();
  row().dispatchEvent(
    new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true })
  );
  expect(document.activeElement?.getAttribute('data-rank')).toBe('1');
  document.activeElement!.dispatchEvent(
    new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })
  );
  await text('Process');
  expect(panel.node.textContent).toContain('1001');
});

it('has one row a node with a square a rank above 16 ranks', async () => {
  const ranks = Array.from({ length: 64 }, (_, i) =>
    makeRank(i, { node: `gpu-${i >> 3}`, state: i === 9 ? 'lost' : 'busy' })
  );
  show([makeCluster({ ranks })]);
  await text('gpu-7');
  expect(panel.node.querySelectorAll('.jp-DtrainRanks-node')).toHaveLength(8);
  expect(panel.node.querySelectorAll('[data-state=lost]')).toHaveLength(1);
  await text('7 of 8');
});

it('asks for frames only while it is seen', () => {
  const { model } = show([]);
  panel.hide();
  panel.show();
  MessageLoop.flush();
  expect(model.shown).toEqual([true, false, true]);
});

it('keeps what was folded and opened while it is hidden', async () => {
  show([makeCluster()]);
  await text('Rank');
  const part = (name: string): HTMLElement =>
    panel.node.querySelector<HTMLElement>(name)!;
  const title = (): HTMLElement =>
    [...panel.node.querySelectorAll('h2 button')].find(b =>
      b.textContent?.includes('Profiles')
    ) as HTMLElement;
  title().click();
  part('[data-rank="1"]').click();
  await vi.waitFor(() =>
    expect(part('[data-rank="1"]').getAttribute('aria-expanded')).toBe('true')
  );
  panel.hide();
  await vi.waitFor(() => {
    MessageLoop.flush();
    expect(panel.node.textContent).toBe('');
  });
  panel.show();
  MessageLoop.flush();
  await text('Profiles');
  expect(title().getAttribute('aria-expanded')).toBe('true');
  expect(part('[data-rank="1"]').getAttribute('aria-expanded')).toBe('true');
});

it('is focused at the selected cluster, also where it is scrolled out of view', async () => {
  show([
    makeCluster({ id: 'a', name: 'one' }),
    makeCluster({ id: 'b', name: 'two' })
  ]);
  await text('two');
  const rows = [
    ...panel.node.querySelectorAll<HTMLElement>('.jp-DtrainUi-listItem')
  ];
  const chosen = rows.find(r => r.getAttribute('aria-pressed') === 'true')!;
  const box = (top: number): DOMRect =>
    ({ top, bottom: top + 20, height: 20 }) as DOMRect;
  const body = panel.node.querySelector<HTMLElement>('.jp-DtrainSidebar-body')!;
  body.getBoundingClientRect = () =>
    ({ top: 0, bottom: 100, height: 100 }) as DOMRect;
  rows.forEach(row => {
    row.getBoundingClientRect = () => box(row === chosen ? -50 : 10);
  });
  panel.activate();
  MessageLoop.flush();
  await vi.waitFor(() => expect(document.activeElement).toBe(chosen));
});
