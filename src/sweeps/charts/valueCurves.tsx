import { TranslationBundle } from '@jupyterlab/translation';
import React, { useRef } from 'react';

import { sweepEnded } from '../../job/list/sweeps';
import { Sweep, Trial } from '../../tokens';
import { formatSpan, formatValue } from '../../metrics/format';
import { timeSteps } from '../../ui/charts/ticks';
import { bestSoFar, IScale, linear, scaleOfValues, valuesOf } from './scale';
import { useWidth } from './width';
import { noObjective, trialState } from '../model/texts';

const HEIGHT = 190;
const LEFT = 52;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 24;
/** Number of dots above which they are small. */
const MANY = 100;

/** The objective over time: one dot per trial, and the best value so far as a line. */
export function ValueCurves(props: {
  sweep: Sweep;
  /** Number of the trial under the pointer; null for none. */
  marked: number | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { sweep, marked, trans } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const plot = plotOf(sweep, width);
  const { ended, best, x, y } = plot;
  const last = best.at(-1);
  const isBest = (trial: Trial): boolean => trial.number === sweep.best?.number;
  const dots = (trials: readonly Trial[]): JSX.Element[] =>
    trials.map(trial => (
      <Dot
        key={trial.number}
        trial={trial}
        best={isBest(trial)}
        marked={trial.number === marked}
        small={ended.length > MANY}
        at={[x(trial.ended_at ?? sweep.created_at), y(trial.value ?? 0)]}
        trans={trans}
      />
    ));
  const title = trans.__('%1 over time', sweep.objective);
  return (
    <section>
      <h3>
        <span>{title}</span>
        <span>
          {last && (
            <>
              {trans.__('best')} <b>{formatValue(last.best)}</b>
            </>
          )}
        </span>
      </h3>
      <div ref={box} className="jp-DtrainSweep-plot">
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={trans.__('%1: %2', title, summaryOf(sweep, plot, trans))}
        >
          {ended.length > 0 && <Ticks plot={plot} width={width} />}
          {dots(ended.filter(trial => !isBest(trial)))}
          {last && (
            <path
              className="jp-DtrainSweep-best"
              d={`${bestLine(plot, sweep.created_at)}H${x(plot.until).toFixed(1)}`}
            />
          )}
          {dots(ended.filter(isBest))}
        </svg>
        {!ended.length && (
          <p className="jp-DtrainSweep-wait">
            {sweepEnded(sweep)
              ? noObjective(sweep, trans)
              : trans.__('Each trial is a dot here once it has ended.')}
          </p>
        )}
      </div>
      <p className="jp-DtrainSweep-legend" aria-hidden="true">
        <span data-dot="succeeded">{trans.__('done')}</span>
        <span data-dot="pruned">
          {trans.__('stopped early, stopped or failed')}
        </span>
        <span data-dot="line">{trans.__('best so far')}</span>
      </p>
    </section>
  );
}

/** What is drawn, and where. */
interface IPlot {
  /** Trials that have ended with a value. */
  ended: readonly Trial[];
  best: ReturnType<typeof bestSoFar>;
  value: IScale;
  /** When the first trial could start, and when the last one ended, s. */
  from: number;
  until: number;
  /** Position of a time, px. */
  x: (at: number) => number;
  /** Position of a value, px. */
  y: (value: number) => number;
}

function plotOf(sweep: Sweep, width: number): IPlot {
  const ended = sweep.trials.filter(
    t => t.value !== null && t.ended_at !== null
  );
  const from = sweep.created_at;
  const until = Math.max(from + 1, ...ended.map(t => t.ended_at ?? 0));
  const time = linear(0, (until - from) * 1.02);
  const value = scaleOfValues(valuesOf(sweep));
  return {
    ended,
    best: bestSoFar(sweep),
    value,
    from,
    until,
    x: at => LEFT + time.of(at - from) * (width - LEFT - RIGHT),
    y: v => heightOf(value.of(v))
  };
}

/** Position of a fraction of the vertical axis, px. */
function heightOf(share: number): number {
  return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
}

/** The best value so far, as a path. */
function bestLine({ best, x, y }: IPlot, from: number): string {
  return best
    .map(({ trial, best: now }, index) => {
      const at = x(trial.ended_at ?? from).toFixed(1);
      return `${index ? `H${at}V` : `M${at} `}${y(now).toFixed(1)}`;
    })
    .join('');
}

/** The chart in a sentence, for those who don't see it. */
function summaryOf(
  sweep: Sweep,
  { ended, best }: IPlot,
  trans: TranslationBundle
): string {
  const last = best.at(-1);
  return last
    ? trans._n(
        '%2 of %1 trial that ended; the best so far is %3.',
        '%2 of %1 trials that ended; the best so far is %3.',
        ended.length,
        sweep.objective,
        formatValue(last.best)
      )
    : trans.__('No trial is done yet.');
}

/** Values and times at the axes, and lines across. */
function Ticks(props: { plot: IPlot; width: number }): JSX.Element {
  const { plot, width } = props;
  const { value, from, until, x } = plot;
  const most = Math.floor((width - LEFT - RIGHT) / 90);
  return (
    <>
      {value.ticks.map(tick => (
        <g key={tick.label} className="jp-DtrainSweep-tick">
          <line
            x1={LEFT}
            x2={width - RIGHT}
            y1={heightOf(tick.at)}
            y2={heightOf(tick.at)}
          />
          <text x={LEFT - 6} y={heightOf(tick.at) + 4} textAnchor="end">
            {tick.label}
          </text>
        </g>
      ))}
      {timeSteps(until - from, most).map(at => (
        <text
          key={at}
          className="jp-DtrainSweep-tickText"
          x={x(from + at)}
          y={HEIGHT - 6}
          textAnchor={at === 0 ? 'start' : 'middle'}
        >
          {formatSpan(at)}
        </text>
      ))}
    </>
  );
}

/** A trial, at its end and its value. */
function Dot(props: {
  trial: Trial;
  best: boolean;
  /** Whether it is under the pointer. */
  marked: boolean;
  small: boolean;
  at: readonly [number, number];
  trans: TranslationBundle;
}): JSX.Element {
  const { trial, best, marked, small, at, trans } = props;
  return (
    <circle
      className="jp-DtrainSweep-dot"
      data-state={trial.state}
      data-best={best || undefined}
      data-marked={marked || undefined}
      cx={at[0]}
      cy={at[1]}
      r={marked ? 6 : small ? 2.5 : 4}
    >
      <title>
        {trans.__(
          'Trial %1, %2: %3',
          trial.number,
          trialState(trial, trans),
          formatValue(trial.value)
        )}
      </title>
    </circle>
  );
}
