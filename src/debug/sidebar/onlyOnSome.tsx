import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatRanks } from '../../metrics/format';
import { Filled } from '../../ui/text/filled';
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
            <Filled
              text={onlyText(one.ranks, more, trans)}
              parts={[
                <code key="names">{names.slice(0, MOST_NAMES).join(', ')}</code>
              ]}
            />
          </p>
        );
      })}
    </>
  );
}

/** On which ranks only, with %1 for the names that are shown. */
function onlyText(
  ranks: readonly number[],
  more: number,
  trans: TranslationBundle
): string {
  const count = ranks.length;
  const named = formatRanks(ranks);
  return more > 0
    ? trans._n(
        'Only on rank %2: %3 and %4 more',
        'Only on ranks %2: %3 and %4 more',
        count,
        named,
        '%1',
        more
      )
    : trans._n(
        'Only on rank %2: %3',
        'Only on ranks %2: %3',
        count,
        named,
        '%1'
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
