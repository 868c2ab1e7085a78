import { expect, it } from 'vitest';

import { mergeBars } from './bars';

const bar = (rest: string, count = '38/60'): string =>
  `fit:  63%|######3   | ${count} [${rest}]`;

const row = (
  rank: number,
  text: string
): { ranks: number[]; text: string } => ({ ranks: [rank], text });

it('merges bars of ranks, with the range of each value that differs', () => {
  expect(
    mergeBars([
      row(1, bar('00:04<00:03,  9.71it/s, loss=0.0301, lr=0.001, seen=48')),
      row(0, bar('00:03<00:02,  9.89it/s, loss=0.0256, lr=0.001, seen=32'))
    ])
  ).toEqual([
    {
      ranks: [0, 1],
      text: bar(
        '00:03<00:02,  9.89it/s, loss=0.0256…0.0301, lr=0.001, seen=32…48'
      )
    }
  ]);
});

it('does not merge bars of which only one has a value', () => {
  for (const other of [
    '00:03<00:02, 9.8it/s, loss=nan',
    '00:03<00:02, 9.8it/s',
    '00:03<00:02, 9.8it/s, acc=0.5'
  ]) {
    const rows = [
      row(0, bar('00:03<00:02, 9.8it/s, loss=0.5')),
      row(1, bar(other))
    ];
    expect(mergeBars(rows)).toEqual(rows);
  }
});

it('keeps bars apart that have come less far, and other rows', () => {
  const rows = [
    row(0, bar('00:03<00:02, 9.8it/s')),
    row(1, bar('00:03<00:02, 9.8it/s', '37/60')),
    row(0, 'a'),
    row(1, 'a')
  ];
  expect(mergeBars(rows)).toEqual(rows);
  // a rate that is not known yet, and a bar without a count
  const early = [0, 1].map(rank => row(rank, bar('00:00<?, ?it/s')));
  expect(mergeBars(early)).toEqual([{ ranks: [0, 1], text: early[0].text }]);
  const plain = [0, 1].map(rank => row(rank, '50%|#####     |'));
  expect(mergeBars(plain)).toEqual([{ ranks: [0, 1], text: plain[0].text }]);
});
