import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { LogLine } from '../../tokens';
import { useFind } from './find';
import { rowsOf } from './lines';
import { IReader } from './logReader';

const lines = (...texts: string[]): LogLine[] =>
  texts.map((text, n) => ({ time: n, rank: 0, text, error: false }));

function Finding(props: {
  reader: IReader;
  show: (index: number) => void;
  out: { find?: (text: string) => void; hit?: string | null };
}): JSX.Element {
  const { reader, show, out } = props;
  const rows = rowsOf(reader.lines, false);
  const { hit, find } = useFind(rows, reader, () => 0, show);
  out.find = find;
  out.hit = rows.find(row => row.key === hit?.key)?.text ?? null;
  return <></>;
}

it('finds what is shown, then the next one, then asks for the rest', async () => {
  const asked = vi.fn();
  const [show, calm] = [vi.fn(), vi.fn()];
  const out: { find?: (text: string) => void; hit?: string | null } = {};
  const reader = {
    lines: lines('step 10', 'step 20', 'step 21'),
    find: asked,
    calm
  };
  const root = createRoot(document.createElement('div'));
  const draw = (now: typeof reader): void =>
    root.render(
      <Finding reader={now as unknown as IReader} show={show} out={out} />
    );
  draw(reader);
  await vi.waitFor(() => expect(out.find).toBeDefined());
  for (const found of ['step 20', 'step 21']) {
    out.find?.('Step 2');
    await vi.waitFor(() => expect(out.hit).toBe(found));
  }
  expect(asked).not.toHaveBeenCalled();
  out.find?.('Step 2');
  expect(asked).toHaveBeenCalledWith('Step 2');
  draw({ ...reader, lines: lines('step 9', 'step 22') });
  await vi.waitFor(() => expect(out.hit).toBe('step 22'));
  expect(show.mock.calls).toEqual([[1], [2], [1]]);
  root.unmount();
});
