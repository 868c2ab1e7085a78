import { TranslationBundle } from '@jupyterlab/translation';

import { IPoint } from '../../tokens';
import { newlyLost } from '../../cluster/model/metricsHistory';
import { formatClock, formatRanks } from '../../metrics/format';
import { IMark } from './marks';
import { rebuilds } from '../model/rankMetrics';

/** The time axis that all charts of a view share. */
export interface IAxis {
  times: readonly number[];
  marks: readonly IMark[];
  /** s */
  window: number;
  /** ms */
  until: number;
  /** Text at its end; null for the time. */
  end: string | null;
  /** Text of a chart of steps without a value. */
  none: string;
  /** Whether there has been nothing yet that a time would be of: neither a step nor an event. */
  blank: boolean;
}

/**
 * The axis of these points.
 *
 * @param earlier - points before it.
 * @param until - its end, ms.
 * @param over - whether the cluster has ended, so that this is not now.
 */
export function axisOf(
  points: readonly IPoint[],
  earlier: readonly IPoint[],
  minutes: number,
  until: number,
  over: boolean,
  trans: TranslationBundle
): IAxis {
  const marks = [
    ...rebuilds(points).map(at => ({ at, label: trans.__('group rebuilt') })),
    ...points.flatMap((point, i) => {
      const lost = newlyLost(point, points[i - 1]);
      return lost.length
        ? [{ at: point.at, label: lostText(lost, trans) }]
        : [];
    }),
    ...points.flatMap(({ at, slowed }) =>
      slowed.map(rank => ({
        at,
        label: trans.__('rank %1 slows down', rank)
      }))
    )
  ];
  return {
    times: points.map(p => p.at),
    marks,
    window: minutes * 60,
    until,
    end: over ? null : trans.__('now'),
    none: noSteps(earlier, over, trans),
    blank: !marks.length && ![...points, ...earlier].some(trains)
  };
}

function lostText(lost: readonly number[], trans: TranslationBundle): string {
  return trans._n(
    'rank %2 lost',
    'ranks %2 lost',
    lost.length,
    formatRanks(lost)
  );
}

/** Whether steps were taken at this point. */
export function trains(point: IPoint): boolean {
  return point.samples !== null || point.overhead !== null;
}

/** Text of a chart for a period without steps. */
function noSteps(
  earlier: readonly IPoint[],
  over: boolean,
  trans: TranslationBundle
): string {
  const last = earlier.filter(trains).pop();
  return last
    ? trans.__(
        'No steps in this period; the last were at %1.',
        formatClock(last.at)
      )
    : over
      ? trans.__('No training steps were taken.')
      : trans.__('No training steps yet.');
}
