import { TranslationBundle } from '@jupyterlab/translation';
import React, { useRef } from 'react';

import { Sweep, Trial } from '../tokens';
import { goodness, IScale, scaleOf, scaleOfValues, valuesOf } from './scale';
import { useWidth } from './width';
import { formatValue } from './words';

const HEIGHT = 190;
const SIDE = 44;
const TOP = 30;
const BOTTOM = 12;
/** Half of the width in which an axis is brushed, px. */
const GRIP = 14;
/** A shorter brush is a click, which clears it; a share of the axis. */
const LEAST = 0.02;

/** Parts of axes that were chosen, 0 to 1 each, by their names. */
export type Brushes = Readonly<Record<string, readonly [number, number]>>;

interface IAxis {
  name: string;
  scale: IScale;
  of(trial: Trial): unknown;
}

/** All axes: a parameter each, and the objective last. */
export function axesOf(sweep: Sweep): IAxis[] {
  const axes = Object.entries(sweep.space).map(([name, domain]): IAxis => ({
    name,
    scale: scaleOf(domain),
    of: trial => trial.parameters[name]
  }));
  const scale = scaleOfValues(valuesOf(sweep));
  return [...axes, { name: sweep.objective, scale, of: trial => trial.value }];
}

/** Does a trial lie within all brushes? */
export function within(
  trial: Trial,
  axes: readonly IAxis[],
  brushes: Brushes
): boolean {
  return axes.every(({ name, scale, of }) => {
    const brush = brushes[name];
    const at = scale.of(of(trial));
    return !brush || (at >= brush[0] && at <= brush[1]);
  });
}

/** Parallel coordinates: a line a trial, the better the stronger. A brush on an axis chooses trials. */
export function Parallel(props: {
  sweep: Sweep;
  brushes: Brushes;
  brush: (brushes: Brushes) => void;
  marked: number | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { sweep, brushes, marked, trans } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const begun = useRef<{ name: string; at: number } | null>(null);
  const axes = axesOf(sweep);
  const good = goodness(sweep);
  const gap = (width - 2 * SIDE) / Math.max(1, axes.length - 1);
  const x = (index: number): number => SIDE + index * gap;
  const y = (at: number): number => TOP + (1 - at) * (HEIGHT - TOP - BOTTOM);
  const place = (event: React.PointerEvent<SVGElement>): number => {
    const top = event.currentTarget.ownerSVGElement?.getBoundingClientRect();
    const at =
      1 - (event.clientY - (top?.top ?? 0) - TOP) / (HEIGHT - TOP - BOTTOM);
    return Math.min(1, Math.max(0, at));
  };
  const drawn = sweep.trials.filter(trial => good.has(trial.number));
  const { best } = sweep;
  const sorted = drawn.sort(
    (a, b) => (good.get(a.number) ?? 0) - (good.get(b.number) ?? 0)
  );
  const chosen = Object.keys(brushes).length
    ? sorted.filter(trial => within(trial, axes, brushes)).length
    : 0;
  return (
    <section>
      <h3>
        <span>{trans.__('Parameters')}</span>
        <span>
          {Object.keys(brushes).length > 0 && (
            <button
              type="button"
              className="jp-DtrainUi-link"
              onClick={() => props.brush({})}
            >
              {trans.__('%1 of %2 chosen. Show all', chosen, drawn.length)}
            </button>
          )}
        </span>
      </h3>
      <div ref={box} className="jp-DtrainSweep-plot">
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={
            best
              ? trans.__(
                  'Parameters of %1 trials; the best has %2.',
                  drawn.length,
                  axes
                    .slice(0, -1)
                    .map(a => `${a.name} ${formatValue(a.of(best))}`)
                    .join(', ')
                )
              : trans.__('Parameters of %1 trials.', drawn.length)
          }
        >
          {sorted.map(trial => {
            const points = axes.map((axis, index) => {
              const at = axis.scale.of(axis.of(trial));
              return `${x(index).toFixed(1)},${y(at).toFixed(1)}`;
            });
            return (
              <polyline
                key={trial.number}
                className="jp-DtrainSweep-line"
                data-best={trial.number === best?.number || undefined}
                data-marked={trial.number === marked || undefined}
                data-out={!within(trial, axes, brushes) || undefined}
                style={
                  {
                    '--jp-dtrain-good': `${Math.round(20 + 70 * (good.get(trial.number) ?? 0))}%`
                  } as React.CSSProperties
                }
                points={points.join(' ')}
              >
                <title>{trans.__('Trial %1', trial.number)}</title>
              </polyline>
            );
          })}
          {axes.map((axis, index) => (
            <g key={axis.name} className="jp-DtrainSweep-axis">
              <line x1={x(index)} x2={x(index)} y1={y(0)} y2={y(1)} />
              <text
                className="jp-DtrainSweep-axisName"
                x={x(index)}
                y={14}
                textAnchor={
                  index === 0
                    ? 'start'
                    : index === axes.length - 1
                      ? 'end'
                      : 'middle'
                }
                dx={
                  index === 0
                    ? 8 - SIDE
                    : index === axes.length - 1
                      ? SIDE - 8
                      : 0
                }
              >
                {axis.name}
              </text>
              {axis.scale.ticks.map(tick => (
                <text
                  key={tick.text}
                  x={x(index) + (index === axes.length - 1 ? 5 : -5)}
                  y={y(tick.at) + 4}
                  textAnchor={index === axes.length - 1 ? 'start' : 'end'}
                >
                  {tick.text}
                </text>
              ))}
              {brushes[axis.name] && (
                <rect
                  className="jp-DtrainSweep-brush"
                  x={x(index) - 6}
                  width={12}
                  y={y(brushes[axis.name][1])}
                  height={y(brushes[axis.name][0]) - y(brushes[axis.name][1])}
                />
              )}
              <rect
                className="jp-DtrainSweep-grip"
                x={x(index) - GRIP}
                width={2 * GRIP}
                y={y(1)}
                height={y(0) - y(1)}
                onPointerDown={event => {
                  event.currentTarget.setPointerCapture(event.pointerId);
                  begun.current = { name: axis.name, at: place(event) };
                }}
                onPointerMove={event => {
                  const from = begun.current;
                  if (from?.name === axis.name) {
                    const ends = [from.at, place(event)].sort((a, b) => a - b);
                    props.brush({
                      ...brushes,
                      [axis.name]: [ends[0], ends[1]]
                    });
                  }
                }}
                onPointerUp={event => {
                  const from = begun.current;
                  begun.current = null;
                  if (from && Math.abs(from.at - place(event)) < LEAST) {
                    const rest = Object.entries(brushes).filter(
                      ([name]) => name !== axis.name
                    );
                    props.brush(Object.fromEntries(rest));
                  }
                }}
              />
            </g>
          ))}
        </svg>
      </div>
      <p className="jp-DtrainSweep-legend" aria-hidden="true">
        <span data-dot="line">{trans.__('the better, the stronger')}</span>
        <span>{trans.__('Drag along an axis to choose trials.')}</span>
      </p>
    </section>
  );
}
