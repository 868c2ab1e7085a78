import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatRanks } from '../../metrics/format';
import { RankView } from '../model/model';
import { Only } from '../model/compareVariables';

interface IProps {
  only: readonly Only[];
  ranks: readonly Pick<RankView, 'text'>[];
  trans: TranslationBundle;
}

/** Maximum number of names of a group that are shown. */
const MOST_NAMES = 8;

/** Names that only some ranks have: often the cause of a failure, so at the top of a comparison. */
export function OnlyOnSome({ only, ranks, trans }: IProps): JSX.Element {
  return (
    <>
      {only.map(one => {
        const names = sorted(one.names, ranks);
        const more = names.length - MOST_NAMES;
        return (
          <p
            key={String(one.ranks)}
            data-only={String(one.ranks)}
            title={names.join(', ')}
          >
            {trans._n(
              'Only on rank %2:',
              'Only on ranks %2:',
              one.ranks.length,
              formatRanks(one.ranks)
            )}{' '}
            <code>{names.slice(0, MOST_NAMES).join(', ')}</code>
            {more > 0 && ` ${trans.__('and %1 more', more)}`}
          </p>
        );
      })}
    </>
  );
}

/** Names, those first that an error names: "name 'torch' is not defined". */
export function sorted(
  names: readonly string[],
  ranks: readonly Pick<RankView, 'text'>[]
): readonly string[] {
  const words = new Set(
    ranks.flatMap(({ text }) => text.match(/[\p{L}_][\p{L}\p{N}_]*/gu) ?? [])
  );
  return [...names].sort((a, b) => Number(words.has(b)) - Number(words.has(a)));
}
