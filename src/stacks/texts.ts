import { TranslationBundle } from '@jupyterlab/translation';

import { StackFrame } from '../tokens';
import { formatRanks } from '../metrics/format';
import { IStackGroup } from './groupStacks';

/** Maximum length of a list of ranks in a title. */
const MOST_NAMED = 24;

/** Ranks of a stack: "Rank 5", "Ranks 0–4, 6", "63 ranks". */
export function titleOf(group: IStackGroup, trans: TranslationBundle): string {
  const { ranks } = group;
  if (ranks.length === 1) {
    return trans.__('Rank %1', ranks[0]);
  }
  const named = formatRanks(ranks);
  return named.length > MOST_NAMED
    ? trans._n('%1 rank', '%1 ranks', ranks.length)
    : trans.__('Ranks %1', named);
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
    return [outside, waitText(group, trans)].filter(Boolean).join('; ');
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
  const one = ranks.length === 1;
  if (peers.length === 1) {
    return one
      ? trans.__('rank %1 waits for it', peers[0])
      : trans.__('rank %1 waits for them', peers[0]);
  }
  return one
    ? trans.__('the others wait for it')
    : trans.__('the others wait for them');
}

/** A frame's file or cell, and line. */
export function frameWords(frame: StackFrame): string {
  const { cell, file, line } = frame.where;
  return cell ? `cell ${cell}, line ${line}` : `${file}:${line}`;
}

/** Everything as plain text. */
export function stacksText(
  name: string,
  groups: readonly IStackGroup[],
  trans: TranslationBundle
): string {
  const parts = groups.map(group => {
    const doing = doingOf(group, trans);
    const lines = [`${titleOf(group, trans)}${doing ? `: ${doing}` : ''}`];
    for (const frame of group.runs.flatMap(run => run.frames)) {
      const { function: inside } = frame.where;
      lines.push(`  ${frameWords(frame)}${inside ? `, in ${inside}` : ''}`);
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
    const rest =
      placed.length === 1
        ? trans.__('%1 ranks are at the same place.', count)
        : trans.__('%1 ranks are at %2 places.', count, placed.length);
    return `${none} ${rest}`;
  }
  if (groups.length === 1) {
    return count === 2
      ? trans.__('Both ranks are at the same place.')
      : trans._n('One rank.', 'All %1 ranks are at the same place.', count);
  }
  return trans.__('%1 ranks are at %2 places.', count, groups.length);
}
