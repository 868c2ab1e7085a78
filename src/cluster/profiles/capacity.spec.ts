import { nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { reportText, Summary } from './capacity';

const trans = nullTranslator.load('x');
const ask = {
  nodes: 1,
  ranks_per_node: 2,
  cpus_per_rank: 1,
  memory_gib_per_rank: 3.5
};

/** As `tests/unit/services/test_profile_room.py` has it from the server. */
const CASES: readonly Summary[] = [
  {
    code: 'takes',
    values: { most: 64, devices: 2, gpus: false },
    text: 'It takes at most 64 ranks: 2 have a core each, more share cores and are slower.'
  },
  {
    code: 'takes',
    values: { most: 32, devices: 1, gpus: false },
    text: 'It takes at most 32 ranks: 1 has the core, more share it and are slower.'
  },
  {
    code: 'takes',
    values: { most: 1, devices: 4, gpus: true },
    text: 'It takes at most 1 rank, with a GPU for each.'
  },
  {
    code: 'each_gets',
    values: ask,
    text: 'With 2 ranks, each gets 1 core and 3.5 GiB.'
  },
  {
    code: 'room',
    values: ask,
    text: 'There is room for 2 ranks on its node, with 1 core and 3.5 GiB for each.'
  },
  {
    code: 'room',
    values: { ...ask, nodes: 3 },
    text: 'There is room for 2 ranks on each of 3 nodes, with 1 core and 3.5 GiB for each.'
  },
  {
    code: 'little_shm',
    values: { node: 'gpu-1', free_mib: 1 },
    text: 'gpu-1 has 1 MiB free in /dev/shm; DataLoader workers may need more.'
  },
  {
    code: 'shares',
    values: { ranks: 8 },
    text: 'It starts 8 ranks by default, which share its devices.'
  }
];

/** What is said of a profile beside the sentences of its check. */
function said(
  room: readonly Summary[],
  bundle: TranslationBundle = trans,
  findings: readonly Summary[] = []
): string {
  return reportText(
    'work',
    { findings: [...findings], room: [...room] },
    bundle
  );
}

it('says in the language of the page what the server says in English', () => {
  for (const one of CASES) {
    expect(said([{ ...one, text: '' }])).toBe(`work can run. ${one.text}`);
  }
  const unknown = { code: 'later', values: {}, text: 'As it is.' };
  expect(said([CASES[3], unknown])).toBe(
    'work can run. With 2 ranks, each gets 1 core and 3.5 GiB. As it is.'
  );
  const other = {
    __: (text: string) => `«${text}»`,
    _n: (text: string) => `«${text}»`
  } as unknown as TranslationBundle;
  for (const one of CASES) {
    expect(said([one], other, [one])).toMatch(/^(«[^»]*» ?){3,}$/);
  }
});
