import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster, ProfileCheck } from '../../tokens';
import { formatCount } from '../../metrics/format';
import { ranksText } from '../../verdicts/sentence';

export type Summary = Cluster['summary'];

/** What was found, and how many ranks fit, of a profile that can run; in the language of the page. */
export function reportText(
  name: string,
  { findings, room }: Pick<ProfileCheck, 'findings' | 'room'>,
  trans: TranslationBundle
): string {
  return [
    trans.__('%1 can run.', name),
    ...checkSentences(room, trans),
    ...checkSentences(findings, trans)
  ].join(' ');
}

/**
 * What a profile's check says: how many ranks fit on its nodes, and what may cause trouble there. A sentence
 * with an unknown code is in the server's English.
 */
export function checkSentences(
  said: readonly Summary[],
  trans: TranslationBundle
): string[] {
  return said.map(one => sentence(one, trans));
}

function sentence(
  { code, values, text }: Summary,
  trans: TranslationBundle
): string {
  const number = (key: string): number => Number(values[key] ?? 0);
  const ranks = (key: string): string => ranksText(number(key), trans);
  const cores = (): string =>
    trans._n(
      '%2 core',
      '%2 cores',
      number('cpus_per_rank'),
      formatCount(number('cpus_per_rank'))
    );
  const memory = (): string =>
    trans.__('%1 GiB', `${number('memory_gib_per_rank')}`);
  switch (code) {
    case 'takes':
      return takes(number('most'), number('devices'), !!values.gpus, trans);
    case 'each_gets':
      return trans.__(
        'With %1, each gets %2 and %3.',
        ranks('ranks_per_node'),
        cores(),
        memory()
      );
    case 'room':
      return number('nodes') > 1
        ? trans.__(
            'There is room for %1 on each of %2 nodes, with %3 and %4 for each.',
            ranks('ranks_per_node'),
            formatCount(number('nodes')),
            cores(),
            memory()
          )
        : trans.__(
            'There is room for %1 on its node, with %2 and %3 for each.',
            ranks('ranks_per_node'),
            cores(),
            memory()
          );
    case 'shares':
      return trans.__(
        'It starts %1 by default, which share its devices.',
        ranks('ranks')
      );
    case 'little_shm':
      return trans.__(
        '%1 has %2 MiB free in /dev/shm; DataLoader workers may need more.',
        String(values.node),
        formatCount(number('free_mib'))
      );
    default:
      return text;
  }
}

/** How many ranks this machine takes, and from how many on they are slower. */
function takes(
  most: number,
  devices: number,
  gpus: boolean,
  trans: TranslationBundle
): string {
  const ranks = ranksText(most, trans);
  const own = formatCount(devices);
  if (most <= devices) {
    return gpus
      ? trans.__('It takes at most %1, with a GPU for each.', ranks)
      : trans.__('It takes at most %1, with a core for each.', ranks);
  }
  if (devices === 1) {
    return gpus
      ? trans.__(
          'It takes at most %1: 1 has the GPU, more share it and are slower.',
          ranks
        )
      : trans.__(
          'It takes at most %1: 1 has the core, more share it and are slower.',
          ranks
        );
  }
  return gpus
    ? trans.__(
        'It takes at most %1: %2 have a GPU each, more share GPUs and are slower.',
        ranks,
        own
      )
    : trans.__(
        'It takes at most %1: %2 have a core each, more share cores and are slower.',
        ranks,
        own
      );
}
