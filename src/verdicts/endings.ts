import { TranslationBundle } from '@jupyterlab/translation';

import { formatClock, formatSpan } from '../metrics/format';
import { Cluster } from '../tokens';

/** Values of a summary that say who has stopped a cluster, and when. */
type Values = Readonly<Record<string, unknown>>;

/** "by train.ipynb at 04:12", "in JupyterLab at 04:12"; empty if nothing is known. */
function how(values: Values, trans: TranslationBundle): string {
  if (typeof values.at !== 'number') {
    return '';
  }
  const at = formatClock(values.at * 1000);
  switch (values.by) {
    case 'kernel':
      return typeof values.notebook === 'string'
        ? trans.__('by %1 at %2', values.notebook, at)
        : trans.__('at %1', at);
    case 'server':
      return trans.__('in JupyterLab at %1', at);
    case 'terminal':
      return trans.__('from a terminal at %1', at);
    case 'python':
      return trans.__('by a Python program at %1', at);
    case 'shutdown':
      return trans.__('with the Jupyter server at %1', at);
    case 'idle':
      return trans.__(
        'at %1: it ran no cell for %2',
        at,
        formatSpan(Number(values.idle_s))
      );
    default:
      return trans.__('at %1', at);
  }
}

/** Of a cell: "The cluster was stopped by train.ipynb at 04:12." */
export function clusterStopped(
  values: Values,
  trans: TranslationBundle
): string {
  const cause = how(values, trans);
  return cause
    ? trans.__('The cluster was stopped %1.', cause)
    : trans.__('The cluster was stopped.');
}

/** Of a cluster: "Stopped by train.ipynb at 04:12.", "Ended." if nobody knows how. */
export function stoppedText(values: Values, trans: TranslationBundle): string {
  switch (values.by) {
    case 'killed':
      return trans.__('Ended unexpectedly.');
    case 'away':
      return trans.__('Ended while the Jupyter server was not running.');
    case 'unknown':
      return trans.__('Ended.');
  }
  const cause = how(values, trans);
  // without a time, nobody has said that it was stopped
  return cause ? trans.__('Stopped %1.', cause) : trans.__('Ended.');
}

/** Whether a cluster has ended because its head was killed. */
export function wasKilled({ summary }: Cluster): boolean {
  return summary.code === 'stopped' && summary.values.by === 'killed';
}

/** What it means that the head of a cluster was killed. */
export function headGone(trans: TranslationBundle): string {
  return trans.__('Its head process is gone. Variables are lost.');
}

/** Of a cluster whose head was killed: what that means, and where to look for why. */
export function killedText(
  { values }: Cluster['summary'],
  trans: TranslationBundle
): string {
  const lost = headGone(trans);
  return values.log
    ? trans.__('%1 The log of its head: %2', lost, String(values.log))
    : lost;
}
