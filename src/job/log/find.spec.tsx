import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot, Root } from 'react-dom/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { LogLine } from '../../tokens';
import { foundWords, useFind } from './find';
import { rowsOf } from './lines';
import { IReader } from './logReader';

const trans = nullTranslator.load('dtrain_lab');
const lines = (...texts: string[]): LogLine[] =>
  texts.map((text, n) => ({ time: n, rank: 0, text, error: false }));

interface IOut {
  find?: (text: string) => void;
  hit?: string | null;
  said?: string;
}

function Finding(props: {
  reader: IReader;
  show: (index: number) => void;
  out: IOut;
}): JSX.Element {
  const { reader, show, out } = props;
  const rows = rowsOf(reader.lines, false);
  const { hit, found, find } = useFind(rows, reader, () => 0, show);
  out.find = find;
  out.hit = rows.find(row => row.key === hit?.key)?.text ?? null;
  out.said = found ? foundWords(found, '', trans).text : '';
  return <></>;
}

let root: Root;
let out: IOut;
const [asked, show, calm] = [vi.fn(), vi.fn(), vi.fn()];
const matches = vi.fn<IReader['matches']>();
beforeEach(() => {
  vi.clearAllMocks();
  out = {};
  root = createRoot(document.createElement('div'));
});
afterEach(() => root.unmount());

async function draw(of: Partial<IReader>): Promise<void> {
  const reader = {
    lines: [],
    whole: true,
    missing: '',
    isReplaced: () => false,
    find: asked,
    matches,
    calm,
    ...of
  } as unknown as IReader;
  root.render(<Finding reader={reader} show={show} out={out} />);
  await vi.waitFor(() => expect(out.find).toBeDefined());
}

it('finds what is shown, then the next one, then asks for the rest', async () => {
  const part = { lines: lines('step 10', 'step 20', 'step 21'), whole: false };
  matches.mockResolvedValue({ before: 2, after: 1 });
  await draw(part);
  for (const found of ['step 20', 'step 21']) {
    out.find?.('Step 2');
    await vi.waitFor(() => expect(out.hit).toBe(found));
  }
  expect(asked).not.toHaveBeenCalled();
  out.find?.('Step 2');
  expect(asked).toHaveBeenCalledWith('Step 2');
  await vi.waitFor(() => expect(out.said).toBe(''));
  await draw({ ...part, lines: lines('step 9', 'step 22') });
  await vi.waitFor(() => expect(out.hit).toBe('step 22'));
  expect(show.mock.calls).toEqual([[1], [2], [1]]);
});

it('counts the matches of a whole log, and begins again after the last one', async () => {
  await draw({ lines: lines('loss 1', 'lr', 'loss 2', 'Loss 3') });
  for (const said of [1, 2, 3, 1]) {
    out.find?.('loss');
    await vi.waitFor(() => expect(out.said).toBe(`${said} of 3`));
  }
  expect(asked).not.toHaveBeenCalled();
  expect(matches).not.toHaveBeenCalled();
});

it('counts the matches of the whole log also where only a part of it is loaded', async () => {
  // 7 matches up to the end of the part, of which it has 2
  matches.mockResolvedValue({ before: 7, after: 1300 });
  const part = { lines: lines('loss 6', 'lr', 'loss 7'), whole: false };
  await draw(part);
  for (const said of [6, 7]) {
    out.find?.('loss');
    await vi.waitFor(() => expect(out.said).toBe(`${said} of 1,307`));
  }
  // another part: no place before it is counted
  let answer = (_: { before: number; after: number }): void => undefined;
  matches.mockReturnValue(new Promise(done => (answer = done)));
  out.find?.('loss');
  await draw({ lines: lines('lr', 'loss 8'), whole: false });
  await vi.waitFor(() => expect(out.hit).toBe('loss 8'));
  expect(out.said).toBe('');
  answer({ before: 8, after: 1300 });
  await vi.waitFor(() => expect(out.said).toBe('8 of 1,308'));
});

it('says no place where the count fails, or contradicts what is loaded', async () => {
  matches.mockRejectedValueOnce(new Error('gone'));
  await draw({ lines: lines('loss 1', 'loss 2'), whole: false });
  out.find?.('loss');
  await vi.waitFor(() => expect(out.hit).toBe('loss 1'));
  expect(out.said).toBe('');
  matches.mockResolvedValueOnce({ before: 1, after: 4 });
  out.find?.('loss');
  await vi.waitFor(() => expect(out.hit).toBe('loss 2'));
  await vi.waitFor(() => expect(matches).toHaveBeenCalledTimes(2));
  expect(out.said).toBe('');
});

it('says of how many lines a row is', async () => {
  const both = (n: number): LogLine[] =>
    [0, 1].map(rank => ({ time: n, rank, text: `epoch ${n}`, error: false }));
  await draw({ lines: [both(1), lines('lr')[0], both(2)].flat() });
  for (const said of ['1–2 of 4', '3–4 of 4']) {
    out.find?.('epoch');
    await vi.waitFor(() => expect(out.said).toBe(said));
  }
});

it('says that there is no match, also while the log grows', async () => {
  const before = lines('step 1');
  await draw({ lines: before });
  out.find?.('qqq');
  expect(asked).toHaveBeenCalledWith('qqq');
  await draw({ lines: before, missing: 'qqq' });
  await vi.waitFor(() => expect(out.said).toBe('No match'));
  await draw({ lines: [...before, ...lines('step 2')], missing: 'qqq' });
  await vi.waitFor(() => expect(out.said).toBe('No match'));
  expect(show).not.toHaveBeenCalled();
});

it('does not search lines that are about to be replaced', async () => {
  await draw({ lines: lines('THE END'), isReplaced: () => true });
  out.find?.('THE END');
  expect(asked).toHaveBeenCalledWith('THE END');
  await draw({ lines: lines('step 1', 'THE END') });
  await vi.waitFor(() => expect(out.hit).toBe('THE END'));
  expect(show.mock.calls).toEqual([[1]]);
});

it('says that a match is folded', async () => {
  await draw({ lines: lines('step 1') });
  out.find?.('deep');
  await draw({ lines: lines('step 2') });
  await vi.waitFor(() => expect(out.said).toBe('In a folded line'));
});
