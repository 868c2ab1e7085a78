import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../../tokens';
import { formatClock, formatValue, UNKNOWN } from '../../metrics/format';
import { InView } from '../../ui/inView';
import { TimeChart } from './chart';
import { IAxis } from './timeAxis';

/** Maximum number of charted values; the export has all. */
const MOST_CHARTS = 6;

/** Names of the user's values in these points. */
export function namesOf(points: readonly Pick<IPoint, 'values'>[]): string[] {
  const names = new Set<string>();
  for (const point of points) {
    for (const name of Object.keys(point.values)) {
      names.add(name);
    }
  }
  names.delete('step');
  return [...names];
}

/** Key of a point's values, to detect new ones. */
type ILogged = Pick<IPoint, 'at' | 'values'>;

/**
 * A value that the user logs, at the times when something was logged. Points in between repeat the latest
 * value: a line through them would continue where nothing is measured any more.
 */
export function loggedAt(
  points: readonly ILogged[],
  name: string
): { times: number[]; values: (number | null)[] } {
  const logged = points.filter((point, i) => {
    const before = points[i - 1]?.values;
    const { values } = point;
    return (
      !before || values[name] !== before[name] || values.step !== before.step
    );
  });
  return {
    times: logged.map(p => p.at),
    values: logged.map(p => p.values[name] ?? null)
  };
}

/**
 * How a logged value comes from those of the ranks; empty with one rank, and where it is not known. `brief`: where there
 * is little room.
 */
export function aggregateOf(
  name: string,
  averaged: readonly string[] | null | undefined,
  size: number,
  trans: TranslationBundle
): { text: string; brief: string } {
  if (!averaged || size < 2) {
    return { text: '', brief: '' };
  }
  return averaged.includes(name)
    ? { text: trans.__('mean over ranks'), brief: trans.__('mean') }
    : { text: trans.__('rank 0'), brief: '' };
}

/**
 * Text of a value's chart for a period without one: steps may have run in that period and logged others.
 */
export function noValues(
  name: string,
  { times, values }: ReturnType<typeof loggedAt>,
  trans: TranslationBundle
): string {
  const last = times.filter((_, i) => values[i] !== null).pop();
  return last === undefined
    ? trans.__('No values of %1 in this period.', name)
    : trans.__(
        'No values of %1 in this period; the last was at %2.',
        name,
        formatClock(last)
      );
}

/**
 * The latest of a chart's values, in as many digits as those before it, so that it keeps its width while it changes:
 * 2.35, 2.30. Whole numbers, and a value that stays what it is, have no zeros added: 12, 0.1.
 */
export function latestText(
  value: number | null,
  values: readonly (number | null)[]
): string {
  const known = values.filter(each => each !== null);
  const changes = known.some(each => each !== known[0]);
  const zeros = changes && !known.every(Number.isInteger);
  return formatValue(value, 3, zeros);
}

/** A chart of each value that the user logs with `dt.log`. */
export function OwnValues(props: {
  cluster: Cluster;
  points: readonly IPoint[];
  axis: IAxis;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { points, trans } = props;
  const { metrics, world } = props.cluster;
  const names = namesOf(points);
  if (!names.length) {
    return null;
  }
  const charts = (): JSX.Element => (
    <>
      {names.slice(0, MOST_CHARTS).map(name => {
        const logged = loggedAt(points, name);
        const { times, values } = logged;
        // null: of an earlier cell, or not a number
        const now = values[values.length - 1] ?? null;
        const last = values.filter(value => value !== null).pop() ?? null;
        const past = now === null && last !== null;
        const text = now === null ? UNKNOWN : latestText(now, values);
        const words = [
          past ? trans.__('Last: %1', latestText(last, values)) : '',
          aggregateOf(name, metrics.averaged, world.size, trans).text
        ];
        return (
          <section key={name}>
            <h3>
              {name}
              <span>
                {!past && (
                  <>
                    <b>{text}</b>{' '}
                  </>
                )}
                {words.filter(Boolean).join(' · ')}
              </span>
            </h3>
            <TimeChart
              {...props.axis}
              times={times}
              none={noValues(name, logged, trans)}
              ofChange
              series={[{ label: name, values, colour: '--jp-accent-color1' }]}
              summary={
                past
                  ? trans.__('%1: %2', name, words[0])
                  : trans.__('%1: %2 now', name, text)
              }
            />
          </section>
        );
      })}
      {names.length > MOST_CHARTS && (
        <p className="jp-DtrainUi-note">
          {trans._n(
            '%1 more value is in the export.',
            '%1 more values are in the export.',
            names.length - MOST_CHARTS
          )}
        </p>
      )}
    </>
  );
  return <InView className="jp-DtrainUi-charts" draw={charts} />;
}
