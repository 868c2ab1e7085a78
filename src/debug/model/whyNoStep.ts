import { TranslationBundle } from '@jupyterlab/translation';

import { formatRanks } from '../../metrics/format';
import { DebugView } from './model';

/**
 * Why a step would move no rank, given the ranks that the user has entered; empty if it moves any of them, or
 * if no rank is paused.
 *
 * @param written - text of the field.
 * @param chosen - the ranks in that text; empty if it can't be parsed.
 */
export function whyNoStep(
  view: Pick<DebugView, 'ranks'>,
  written: string,
  chosen: readonly number[],
  trans: TranslationBundle
): string {
  const last = view.ranks.length - 1;
  if (!chosen.length && last === 0) {
    return trans.__('A step moves no rank: write 0, the only rank.');
  }
  if (!written.trim()) {
    return trans.__('A step moves no rank: write ranks, such as 0-%1.', last);
  }
  if (!chosen.length) {
    return trans.__(
      'A step moves no rank: write ranks from 0 to %1, such as 0-%1.',
      last
    );
  }
  const paused = view.ranks.filter(r => r.phase === 'paused').map(r => r.rank);
  if (!paused.length || chosen.some(rank => paused.includes(rank))) {
    return '';
  }
  const why = trans._n(
    'A step moves no rank: rank %2 is not paused.',
    'A step moves no rank: ranks %2 are not paused.',
    chosen.length,
    formatRanks(chosen)
  );
  const those = trans._n(
    'Rank %2 is paused.',
    'Ranks %2 are paused.',
    paused.length,
    formatRanks(paused)
  );
  return `${why} ${those}`;
}

/**
 * Why a step of the rank that the user looks at would not move it, although others are paused; empty if it
 * moves it, or may soon: a rank that runs can stop at any time.
 */
export function whyFocusStays(
  view: Pick<DebugView, 'ranks' | 'focus'>,
  trans: TranslationBundle
): string {
  const { focus, ranks } = view;
  const phase = ranks.find(r => r.rank === focus)?.phase;
  return focus !== null && (phase === 'idle' || phase === 'gone')
    ? whyNoStep(view, String(focus), [focus], trans)
    : '';
}
