import { TranslationBundle } from '@jupyterlab/translation';
import React, { useRef, useState } from 'react';

import { Sweep, Trial } from '../../tokens';
import { formatValue } from '../../metrics/format';
import { Axis } from './axis';
import { axesOf, Brush, Brushes, IAxis, within } from './brush';
import { uncountedText } from '../model/texts';
import { goodness } from './scale';
import { useWidth } from './width';

const HEIGHT = 190;
const SIDE = 56;
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
  const { sweep, brushes, trans } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [handle, setHandle] = useState(0);
  const axes = axesOf(sweep);
  const good = goodness(sweep);
  const gap = (width - 2 * SIDE) / Math.max(1, axes.length - 1);
  const x = (index: number): number => SIDE + index * gap;
  const sorted = sweep.trials
    .filter(trial => good.has(trial.number))
    .sort((a, b) => (good.get(a.number) ?? 0) - (good.get(b.number) ?? 0));
  const brushed = Object.keys(brushes).length > 0;
  const setBrush = (name: string, brush: Brush | null): void => {
    const rest = Object.entries(brushes).filter(([other]) => other !== name);
    props.brush(Object.fromEntries(brush ? [...rest, [name, brush]] : rest));
  };
  const goTo = (handle: number): void => {
    const to = Math.min(2 * axes.length - 1, Math.max(0, handle));
    setHandle(to);
    box.current?.querySelectorAll<SVGElement>('[role=slider]')[to]?.focus();
  };
  return (
    <section>
      <h3>
        <span>{trans.__('Parameters')}</span>
        <span>
          {brushed && (
            <button
              type="button"
              className="jp-DtrainUi-link"
              onClick={() => props.brush({})}
            >
              {trans.__(
                '%1 of %2 chosen. Show all',
                sorted.filter(trial => within(trial, axes, brushes)).length,
                sorted.length
              )}
            </button>
          )}
        </span>
      </h3>
      <div ref={box} className="jp-DtrainSweep-plot">
        <svg
          width={width}
          height={HEIGHT}
          role="group"
          aria-label={summaryOf(sweep, axes, sorted.length, trans)}
        >
          <g aria-hidden="true">
            {sorted.map(trial => (
              <Line
                {...props}
                key={trial.number}
                trial={trial}
                axes={axes}
                x={x}
                good={good.get(trial.number) ?? 0}
              />
            ))}
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
              set={brush => setBrush(axis.name, brush)}
              stop={handle - 2 * index}
              go={end => goTo(2 * index + end)}
              trans={trans}
            />
          ))}
        </svg>
      </div>
      <p className="jp-DtrainSweep-legend" aria-hidden="true">
        <span data-dot="line">
          {uncountedText(sweep, trans)
            ? trans.__(
                'Thick: best finished trial. More vivid: better value, finished or not.'
              )
            : trans.__('More vivid lines are better trials.')}
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

/** A trial's parameters and its value, as a line across the axes. */
function Line(props: {
  sweep: Sweep;
  trial: Trial;
  axes: readonly IAxis[];
  /** Position of an axis, px. */
  x: (index: number) => number;
  brushes: Brushes;
  marked: number | null;
  /** How good it is among all trials, from 0 to 1. */
  good: number;
  trans: TranslationBundle;
}): JSX.Element {
  const { trial, axes, x, good, trans } = props;
  const points = axes.map((axis, index) => {
    const at = axis.scale.of(axis.of(trial));
    const y = TOP + (1 - at) * (HEIGHT - TOP - BOTTOM);
    return `${x(index).toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <polyline
      className="jp-DtrainSweep-line"
      data-best={trial.number === props.sweep.best?.number || undefined}
      data-marked={trial.number === props.marked || undefined}
      data-out={!within(trial, axes, props.brushes) || undefined}
      style={
        {
          '--jp-dtrain-good': `${Math.round(20 + 70 * good)}%`
        } as React.CSSProperties
      }
      points={points.join(' ')}
    >
      <title>{trans.__('Trial %1', trial.number)}</title>
    </polyline>
  );
}

/** The plot in a sentence, for those who don't see it. */
function summaryOf(
  { best }: Sweep,
  axes: readonly IAxis[],
  drawn: number,
  trans: TranslationBundle
): string {
  return best
    ? trans._n(
        'Parameters of %1 trial; it has %2.',
        'Parameters of %1 trials; the best has %2.',
        drawn,
        axes
          .slice(0, -1)
          .map(a => `${a.name} ${formatValue(a.of(best))}`)
          .join(', ')
      )
    : trans._n('Parameters of %1 trial.', 'Parameters of %1 trials.', drawn);
}
