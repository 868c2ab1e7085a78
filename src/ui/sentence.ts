import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster } from '../tokens';
import { GlyphKind } from './glyph';
import { alarmOf } from './verdict';

/** The head's one sentence in the user's language; its English text where a code is new to us. */
export function sentence(cluster: Cluster, trans: TranslationBundle): string {
  const { code, values, text } = cluster.summary;
  const number = (key: string): number => Number(values[key] ?? 0);
  const word = (key: string): string => String(values[key] ?? '');
  switch (code) {
    case 'ready':
      return trans._n(
        'Ready. %1 rank waits for a cell.',
        'Ready. %1 ranks wait for a cell.',
        number('total')
      );
    case 'training':
      return number('total') === 1
        ? trans.__('Training on 1 rank.')
        : trans.__('Training. All %1 ranks keep pace.', number('total'));
    case 'running':
      return trans._n(
        'Running cell %2 on %1 rank.',
        'Running cell %2 on %1 ranks.',
        number('count'),
        word('cell')
      );
    case 'loading_torch':
      return trans.__('Starting: loading PyTorch.');
    case 'starting':
      return trans.__(
        'Starting: %1 of %2 ranks.',
        number('done'),
        number('total')
      );
    case 'connecting':
      return trans._n(
        'Connecting %1 rank.',
        'Connecting %1 ranks.',
        number('total')
      );
    case 'rebuilding':
      return trans._n(
        'Connecting %1 rank again.',
        'Connecting %1 ranks again.',
        number('total')
      );
    case 'slow':
      return trans._n(
        'Rank %2 is slow. %1 rank waits for it.',
        'Rank %2 is slow. %1 ranks wait for it.',
        number('count'),
        word('ranks')
      );
    case 'stopped':
      return trans.__('Stopped.');
    default:
      return text;
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
      if (cluster.metrics.verdicts.some(v => v.kind === 'slow')) {
        return 'slow';
      }
      return cluster.running.length ? 'busy' : 'idle';
    default:
      return 'starting';
  }
}

/** Is somebody needed? Only then a screen reader is interrupted. */
export function isTrouble(cluster: Cluster): boolean {
  return ['stuck', 'lost', 'failed'].includes(clusterGlyph(cluster));
}

/** A state in one word. */
export function stateWord(state: string, trans: TranslationBundle): string {
  const words: Record<string, string> = {
    pending: trans.__('waiting'),
    starting: trans.__('starting'),
    connecting: trans.__('connecting'),
    ready: trans.__('ready'),
    paused: trans.__('paused'),
    degraded: trans.__('degraded'),
    rebuilding: trans.__('connecting again'),
    stopping: trans.__('stopping'),
    stopped: trans.__('stopped'),
    failed: trans.__('failed'),
    idle: trans.__('idle'),
    busy: trans.__('busy'),
    'in collective': trans.__('in a collective'),
    stuck: trans.__('stuck'),
    lost: trans.__('lost')
  };
  return words[state] ?? state;
}
