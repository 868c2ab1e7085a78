import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster, Rank } from '../../tokens';
import { GlyphKind } from '../../verdicts/glyphKind';
import { ranksIn } from '../../metrics/rankSets';
import { stateWord } from '../../verdicts/sentence';
import { blamedWord } from '../../verdicts/texts';
import { alarmOf } from '../../verdicts/verdict';

/** The glyph of a rank: slow is a mark, and the text keeps the state. */
export function rankGlyph(rank: Rank): GlyphKind {
  const moves = ['busy', 'in collective', 'idle'].includes(rank.state);
  return rank.slow && moves ? 'slow' : rank.state;
}

/** A rank as it is listed. */
export interface IListedRank extends Rank {
  /** Its state in the words of the verdict on it; undefined if its own state says it. */
  word?: string;
}

/**
 * Listed ranks of a cluster: one that failed while others continue is idle, which says too little, and one that
 * others wait for need not be stuck.
 */
export function listed(
  { ranks, summary, metrics }: Pick<Cluster, 'ranks' | 'summary' | 'metrics'>,
  trans: TranslationBundle
): IListedRank[] {
  const alarm = alarmOf(metrics);
  if (alarm) {
    const word = blamedWord(alarm.code, trans);
    // a rank that computes is not stuck, but is shown as conspicuously: the others wait for it
    const computes = ({ rank, state }: Rank): boolean =>
      alarm.code === 'computing' &&
      state === 'busy' &&
      alarm.ranks.includes(rank);
    return ranks.map(rank =>
      rank.state === 'stuck' || computes(rank)
        ? { ...rank, state: 'stuck', word }
        : rank
    );
  }
  if (summary.code !== 'failing') {
    return ranks;
  }
  const failed = ranksIn(summary.values.ranks);
  const state = 'failed' as Rank['state'];
  return ranks.map(rank =>
    failed.includes(rank.rank) && rank.state === 'idle'
      ? { ...rank, state, doing: trans.__('failed') }
      : rank
  );
}

/** The text of that glyph. */
export function rankWord(rank: IListedRank, trans: TranslationBundle): string {
  const word = rank.word ?? stateWord(rank.state, trans);
  return rankGlyph(rank) === 'slow' ? trans.__('slow, %1', word) : word;
}

const FIRST: readonly GlyphKind[] = ['lost', 'failed', 'stuck', 'slow'];

/** Whether a rank is lost, failed, stuck or slow. */
export function differs(rank: Rank): boolean {
  return weightOf(rank) < FIRST.length;
}

/** Conspicuous ranks first: lost, failed, stuck, slow, then the rest in order. */
export function markedFirst(ranks: readonly Rank[]): Rank[] {
  return [...ranks].sort(
    (a, b) => weightOf(a) - weightOf(b) || a.rank - b.rank
  );
}

/** Position of a rank in an order with conspicuous ranks first. */
export function weightOf(rank: Rank): number {
  const at = FIRST.indexOf(rankGlyph(rank));
  return at < 0 ? FIRST.length : at;
}
