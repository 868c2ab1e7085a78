import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster } from '../tokens';
import { formatCount, formatRanks, formatSpan } from '../metrics/format';
import { GlyphKind } from './glyphKind';
import { ranksIn } from '../metrics/rankSets';
import { stoppedText, wasKilled } from './endings';
import { alarmOf, holdUpOf } from './verdict';

/** The head's one sentence in the user's language; its English text if the code is unknown. */
export function sentence(cluster: Cluster, trans: TranslationBundle): string {
  return (
    workSentence(cluster, trans) ??
    lifeSentence(cluster, trans) ??
    cluster.summary.text
  );
}

/** Readers of the values of a summary. */
function valuesOf({ values }: Cluster['summary']): {
  number: (key: string) => number;
  count: (key: string) => string;
  word: (key: string) => string;
} {
  const number = (key: string): number => Number(values[key] ?? 0);
  return {
    number,
    count: key => formatCount(number(key)),
    word: key => String(values[key] ?? '')
  };
}

/** What the ranks of a cluster do, or what holds them up; null if its state is another one. */
function workSentence(
  { summary }: Cluster,
  trans: TranslationBundle
): string | null {
  const { code, values } = summary;
  const { number, count, word } = valuesOf(summary);
  switch (code) {
    case 'ready':
      return trans._n(
        'Ready. %2 rank waits for a cell.',
        'Ready. %2 ranks wait for a cell.',
        number('total'),
        count('total')
      );
    case 'training':
      return number('total') === 2
        ? trans.__('Training. Both ranks keep pace.')
        : trans._n(
            'Training on %2 rank.',
            'Training. All %2 ranks keep pace.',
            number('total'),
            count('total')
          );
    case 'training_begun':
      return trans._n(
        'Training on %2 rank.',
        'Training on %2 ranks.',
        number('total'),
        count('total')
      );
    case 'diagnosing':
      return trans.__('Diagnosing…');
    case 'trying':
      return trans.__('Trying a change…');
    case 'debugging':
      return trans._n(
        'Debugging rank %2.',
        'Debugging ranks %2.',
        number('count'),
        formatRanks(ranksIn(values.ranks))
      );
    case 'running':
      return trans._n(
        'Running cell %2 on %3 rank.',
        'Running cell %2 on %3 ranks.',
        number('count'),
        word('cell'),
        count('count')
      );
    case 'at_work':
      return trans._n(
        '%2 rank works.',
        '%2 ranks work.',
        number('total'),
        count('total')
      );
    case 'slow':
      return trans._n(
        'Rank %2 is slow. %3 rank waits for it.',
        'Rank %2 is slow. %3 ranks wait for it.',
        number('count'),
        formatRanks(ranksIn(values.ranks)),
        count('count')
      );
    case 'failing': {
      const failed = ranksIn(values.ranks);
      const still = ranksIn(values.still);
      return [
        trans._n(
          'Rank %2 failed.',
          'Ranks %2 failed.',
          failed.length,
          formatRanks(failed)
        ),
        trans._n(
          'Rank %2 still runs the cell.',
          'Ranks %2 still run the cell.',
          still.length,
          formatRanks(still)
        )
      ].join(' ');
    }
    case 'deaf': {
      // a head of an earlier version does not say which
      const deaf = values.ranks === undefined ? [] : ranksIn(values.ranks);
      return deaf.length ? deafText(deaf, trans) : null;
    }
    case 'interrupting':
      return trans._n(
        'Interrupting %2 rank; variables are kept.',
        'Interrupting %2 ranks; variables are kept.',
        number('count'),
        count('count')
      );
    default:
      return null;
  }
}

/** "Rank 1 does not answer the interrupt." */
function deafText(ranks: readonly number[], trans: TranslationBundle): string {
  return trans._n(
    'Rank %2 does not answer the interrupt.',
    'Ranks %2 do not answer the interrupt.',
    ranks.length,
    formatRanks(ranks)
  );
}

/** How a cluster starts, loses ranks, and ends; null if its state is another one. */
function lifeSentence(
  cluster: Cluster,
  trans: TranslationBundle
): string | null {
  const { code, values, text } = cluster.summary;
  const { number, count } = valuesOf(cluster.summary);
  switch (code) {
    case 'loading_torch':
      return trans.__('Starting: loading PyTorch.');
    case 'starting':
      return trans._n(
        'Starting: %2 of %3 rank.',
        'Starting: %2 of %3 ranks.',
        number('total'),
        count('done'),
        count('total')
      );
    case 'connecting':
      return trans._n(
        'Connecting %2 rank.',
        'Connecting %2 ranks.',
        number('total'),
        count('total')
      );
    case 'rebuilding':
      return trans._n(
        'Reconnecting %2 rank.',
        'Reconnecting %2 ranks.',
        number('total'),
        count('total')
      );
    case 'stopped':
      return values.lasted_s === undefined
        ? stoppedText(values, trans)
        : trans.__(
            '%1 It ran for %2.',
            stoppedText(values, trans),
            formatSpan(number('lasted_s'))
          );
    case 'stopping':
      return trans._n(
        'Stopping: %2 of %3 rank has ended.',
        'Stopping: %2 of %3 ranks have ended.',
        cluster.world.size,
        count('done'),
        formatCount(cluster.world.size)
      );
    case 'lost': {
      if (values.failed === undefined) {
        return text;
      }
      const ranks = cluster.ranks.filter(r => r.state === 'lost');
      const who = trans._n(
        'Rank %2 was lost.',
        'Ranks %2 were lost.',
        ranks.length,
        formatRanks(ranks.map(r => r.rank))
      );
      return values.failed ? `${who} ${trans.__('The cell has failed.')}` : who;
    }
    default:
      return null;
  }
}

/** The glyph of a whole cluster. */
export function clusterGlyph(cluster: Cluster): GlyphKind {
  if (alarmOf(cluster.metrics)) {
    return 'stuck';
  }
  switch (cluster.state) {
    case 'degraded':
      return 'lost';
    case 'failed':
      return 'failed';
    case 'paused':
      return 'paused';
    case 'ready':
      if (holdUpOf(cluster.metrics)) {
        return 'slow';
      }
      if (cluster.summary.code === 'failing') {
        return 'failed';
      }
      return cluster.running.length ? 'busy' : 'idle';
    case 'pending':
      return 'waiting';
    case 'stopped':
      return wasKilled(cluster) ? 'failed' : 'stopped';
    default:
      return 'starting';
  }
}

/** Whether attention is needed; only then a screen reader is interrupted. */
export function needsAttention(cluster: Cluster): boolean {
  return ['stuck', 'lost', 'failed'].includes(clusterGlyph(cluster));
}

/** The cluster that needs attention most: one in trouble, else one that something holds up; null if none does. */
export function neediest(clusters: readonly Cluster[]): Cluster | null {
  return (
    clusters.find(needsAttention) ??
    clusters.find(c => clusterGlyph(c) === 'slow') ??
    null
  );
}

/** "8 ranks", "1,024 ranks". */
export function ranksText(count: number, trans: TranslationBundle): string {
  return trans._n('%2 rank', '%2 ranks', count, formatCount(count));
}

/** A state in one word. */
export function stateWord(state: string, trans: TranslationBundle): string {
  // one translation only: it is called several times per rank and frame
  switch (state) {
    case 'pending':
      return trans.__('waiting');
    case 'starting':
      return trans.__('starting');
    case 'connecting':
      return trans.__('connecting');
    case 'ready':
      return trans.__('ready');
    case 'paused':
      return trans.__('paused');
    case 'degraded':
      return trans.__('degraded');
    case 'rebuilding':
      return trans.__('reconnecting');
    case 'stopping':
      return trans.__('stopping');
    case 'stopped':
      return trans.__('stopped');
    case 'failed':
      return trans.__('failed');
    case 'idle':
      return trans.__('idle');
    case 'busy':
      return trans.__('busy');
    case 'in collective':
      return trans.__('in a collective');
    case 'stuck':
      return trans.__('stuck');
    case 'lost':
      return trans.__('lost');
    default:
      return state;
  }
}
