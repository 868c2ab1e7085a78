import { TranslationBundle } from '@jupyterlab/translation';

import { StackFrame } from '../tokens';
import { formatRanks } from '../metrics/format';
import { ranksText } from '../verdicts/sentence';
import { IStackGroup } from './groupStacks';

/** Maximum length of a list of ranks in a title. */
const MOST_NAMED = 24;

/** Ranks of a stack: "Rank 5", "Ranks 0–4, 6", "63 ranks". */
export function titleOf(group: IStackGroup, trans: TranslationBundle): string {
  const { ranks } = group;
  const named = formatRanks(ranks);
  return named.length > MOST_NAMED
    ? trans._n('%1 rank', '%1 ranks', ranks.length)
    : trans._n('Rank %2', 'Ranks %2', ranks.length, named);
}

/** Their activity, as far as known. */
export function doingOf(
  group: IStackGroup,
  trans: TranslationBundle
): string | null {
  if (group.error) {
    return group.error;
  }
  const outside = outsideText(group, trans);
  if (group.blamed && !group.operation && group.peers.length) {
    const waits = waitText(group, trans);
    return outside ? trans.__('%1; %2', outside, waits) : waits;
  }
  if (outside) {
    return outside;
  }
  if (group.operation) {
    return trans.__('in %1', group.operation);
  }
  return group.runs.length ? null : trans.__('no cell runs here');
}

/** "has finished the cell"; null for ranks that run it. */
function outsideText(
  { outside, ranks }: IStackGroup,
  trans: TranslationBundle
): string | null {
  switch (outside) {
    case 'finished':
      return trans._n(
        'has finished the cell',
        'have finished the cell',
        ranks.length
      );
    case 'not in cell':
      return trans._n(
        'does not run this cell',
        'do not run this cell',
        ranks.length
      );
    case null:
      return null;
  }
}

/** "rank 0 waits for it", "the others wait for it". */
function waitText(
  { ranks, peers }: IStackGroup,
  trans: TranslationBundle
): string {
  return peers.length === 1
    ? trans._n(
        'rank %2 waits for it',
        'rank %2 waits for them',
        ranks.length,
        peers[0]
      )
    : trans._n(
        'the others wait for it',
        'the others wait for them',
        ranks.length
      );
}

/** A frame's file or cell, its line and its function. */
function frameText(
  { where: { cell, file, line, function: inside } }: StackFrame,
  trans: TranslationBundle
): string {
  const place = cell
    ? trans.__('cell %1, line %2', cell, line)
    : `${file}:${line}`;
  return inside ? trans.__('%1, in %2', place, inside) : place;
}

/** Everything as plain text. */
export function stacksText(
  name: string,
  groups: readonly IStackGroup[],
  trans: TranslationBundle
): string {
  const parts = groups.map(group => {
    const doing = doingOf(group, trans);
    const title = titleOf(group, trans);
    const lines = [doing ? trans.__('%1: %2', title, doing) : title];
    for (const frame of group.runs.flatMap(run => run.frames)) {
      lines.push(`  ${frameText(frame, trans)}`);
      if (frame.source) {
        lines.push(`    ${frame.source.trim()}`);
      }
    }
    if (!group.runs.length && group.text) {
      lines.push(group.text.trimEnd());
    }
    return lines.join('\n');
  });
  return [trans.__('Stacks: %1', name), ...parts].join('\n\n') + '\n';
}

/** The one sentence: which ranks differ. */
export function sentenceOf(
  groups: readonly IStackGroup[],
  trans: TranslationBundle
): string {
  const placed = groups.filter(group => group.error === null);
  const count = placed.reduce((sum, g) => sum + g.ranks.length, 0);
  const without = groups.filter(g => g.error !== null).flatMap(g => g.ranks);
  if (without.length) {
    const none = trans._n(
      'Rank %2 has no stack.',
      'Ranks %2 have no stacks.',
      without.length,
      formatRanks(without)
    );
    if (count < 2) {
      return none;
    }
    return `${none} ${placesText(count, placed.length, trans)}`;
  }
  if (groups.length === 1) {
    return count === 2
      ? trans.__('Both ranks are at the same place.')
      : trans._n('One rank.', 'All %1 ranks are at the same place.', count);
  }
  return placesText(count, groups.length, trans);
}

/** At how many places two or more ranks are. */
function placesText(
  ranks: number,
  places: number,
  trans: TranslationBundle
): string {
  const counted = ranksText(ranks, trans);
  return trans._n(
    '%2 are at the same place.',
    '%2 are at %1 places.',
    places,
    counted
  );
}
