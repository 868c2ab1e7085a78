import { TranslationBundle } from '@jupyterlab/translation';
import React, { useRef } from 'react';

import { sweepEnded } from '../../job/list/sweeps';
import { Sweep, Trial } from '../../tokens';
import { formatSpan, formatValue } from '../../metrics/format';
import { bestSoFar, linear, timeSteps, scaleOfValues, valuesOf } from './scale';
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
  const ended = sweep.trials.filter(
    t => t.value !== null && t.ended_at !== null
  );
  const from = sweep.created_at;
  const until = Math.max(from + 1, ...ended.map(t => t.ended_at ?? 0));
  const time = linear(0, (until - from) * 1.02);
  const value = scaleOfValues(valuesOf(sweep));
  const inner = width - LEFT - RIGHT;
  const x = (at: number): number => LEFT + time.of(at - from) * inner;
  const y = (v: number): number =>
    TOP + (1 - value.of(v)) * (HEIGHT - TOP - BOTTOM);
  const best = bestSoFar(sweep);
  const line = best
    .map(({ trial, best: now }, index) => {
      const at = x(trial.ended_at ?? from).toFixed(1);
      return `${index ? `H${at}V` : `M${at} `}${y(now).toFixed(1)}`;
    })
    .join('');
  const last = best.at(-1);
  const small = ended.length > MANY ? 2.5 : 4;
  const dot = (trial: Trial): JSX.Element => (
    <circle
      key={trial.number}
      className="jp-DtrainSweep-dot"
      data-state={trial.state}
      data-best={trial.number === sweep.best?.number || undefined}
      data-marked={trial.number === marked || undefined}
      cx={x(trial.ended_at ?? from)}
      cy={y(trial.value ?? 0)}
      r={trial.number === marked ? 6 : small}
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
  const summary = last
    ? trans._n(
        '%2 of %1 trial that ended; the best so far is %3.',
        '%2 of %1 trials that ended; the best so far is %3.',
        ended.length,
        sweep.objective,
        formatValue(last.best)
      )
    : trans.__('No trial has succeeded yet.');
  return (
    <section>
      <h3>
        <span>{trans.__('%1 over time', sweep.objective)}</span>
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
          aria-label={`${trans.__('%1 over time', sweep.objective)}: ${summary}`}
        >
          {value.ticks.map(tick => (
            <g key={tick.text} className="jp-DtrainSweep-tick">
              <line
                x1={LEFT}
                x2={width - RIGHT}
                y1={TOP + (1 - tick.at) * (HEIGHT - TOP - BOTTOM)}
                y2={TOP + (1 - tick.at) * (HEIGHT - TOP - BOTTOM)}
              />
              <text
                x={LEFT - 6}
                y={TOP + (1 - tick.at) * (HEIGHT - TOP - BOTTOM) + 4}
                textAnchor="end"
              >
                {tick.text}
              </text>
            </g>
          ))}
          {(ended.length
            ? timeSteps(until - from, Math.floor(inner / 90))
            : []
          ).map(at => (
            <text
              key={at}
              className="jp-DtrainSweep-tickText"
              x={LEFT + time.of(at) * inner}
              y={HEIGHT - 6}
              textAnchor={at === 0 ? 'start' : 'middle'}
            >
              {formatSpan(at)}
            </text>
          ))}
          {ended.filter(trial => trial.number !== sweep.best?.number).map(dot)}
          {last && (
            <path
              className="jp-DtrainSweep-best"
              d={`${line}H${x(until).toFixed(1)}`}
            />
          )}
          {ended.filter(trial => trial.number === sweep.best?.number).map(dot)}
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
        <span data-dot="pruned">{trans.__('stopped early or failed')}</span>
        <span data-dot="line">{trans.__('best so far')}</span>
      </p>
    </section>
  );
}
