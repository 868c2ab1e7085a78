import { TranslationBundle } from '@jupyterlab/translation';
import React, { useRef, useState } from 'react';

import { Sweep } from '../../tokens';
import { formatValue } from '../../metrics/format';
import { Axis } from './axis';
import { axesOf, Brushes, within } from './brush';
import { goodness } from './scale';
import { useWidth } from './width';

const HEIGHT = 190;
const SIDE = 44;
const TOP = 30;
const BOTTOM = 12;
/** Parallel coordinates: one line per trial, stronger for better ones. A brush on an axis selects trials. */
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
  const [handle, setHandle] = useState(0);
  const axes = axesOf(sweep);
  const good = goodness(sweep);
  const gap = (width - 2 * SIDE) / Math.max(1, axes.length - 1);
  const x = (index: number): number => SIDE + index * gap;
  const y = (at: number): number => TOP + (1 - at) * (HEIGHT - TOP - BOTTOM);
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
          role="group"
          aria-label={
            best
              ? trans._n(
                  'Parameters of %1 trial; it has %2.',
                  'Parameters of %1 trials; the best has %2.',
                  drawn.length,
                  axes
                    .slice(0, -1)
                    .map(a => `${a.name} ${formatValue(a.of(best))}`)
                    .join(', ')
                )
              : trans._n(
                  'Parameters of %1 trial.',
                  'Parameters of %1 trials.',
                  drawn.length
                )
          }
        >
          <g aria-hidden="true">
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
          </g>
          {axes.map((axis, index) => (
            <Axis
              key={axis.name}
              axis={axis}
              x={x(index)}
              top={TOP}
              high={HEIGHT - TOP - BOTTOM}
              side={index === 0 ? -1 : index === axes.length - 1 ? 1 : 0}
              shift={SIDE - 8}
              brush={brushes[axis.name]}
              set={brush => {
                const rest = Object.entries(brushes).filter(
                  ([name]) => name !== axis.name
                );
                props.brush(
                  Object.fromEntries(
                    brush ? [...rest, [axis.name, brush]] : rest
                  )
                );
              }}
              stop={handle - 2 * index}
              go={end => {
                const next = 2 * index + end;
                const to = Math.min(2 * axes.length - 1, Math.max(0, next));
                setHandle(to);
                box.current
                  ?.querySelectorAll<SVGElement>('[role=slider]')
                  [to]?.focus();
              }}
              trans={trans}
            />
          ))}
        </svg>
      </div>
      <p className="jp-DtrainSweep-legend" aria-hidden="true">
        <span data-dot="line">
          {trans.__('stronger lines are better trials')}
        </span>
        <span>
          {trans.__(
            'Drag along an axis, or use the arrow keys, to choose trials.'
          )}
        </span>
      </p>
    </section>
  );
}
