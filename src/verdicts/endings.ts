import { TranslationBundle } from '@jupyterlab/translation';

import { formatClock, formatSpan } from '../metrics/format';

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

/** Of a cluster: "Stopped by train.ipynb at 04:12." */
export function stoppedText(values: Values, trans: TranslationBundle): string {
  const cause = how(values, trans);
  return cause ? trans.__('Stopped %1.', cause) : trans.__('Stopped.');
}
