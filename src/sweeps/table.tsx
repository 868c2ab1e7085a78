import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useRef } from 'react';

import { CommandIDs } from '../commands';
import { reasonText } from '../job/list/sweeps';
import { Sweep, Trial } from '../tokens';
import { FilterChips } from '../ui/filterChips';
import { useFirstRows } from '../ui/lists/firstRows';
import { formatRun, formatValue, UNKNOWN } from '../metrics/format';
import { Glyph } from '../ui/icons/glyph';
import { CommandLink } from '../ui/text/commandLink';
import { useViewState } from '../ui/viewState';
import { IMenuItem, openContextMenu } from '../ui/menu';
import { useSteadyOrder } from '../ui/lists/steadyOrder';
import { axesOf, Brushes, within } from './charts/brush';
import {
  bestFirst,
  passes,
  resumedText,
  TrialFilter,
  trialGlyph,
  trialState
} from './model/texts';

/** All trials, best first. */
export function Trials(props: {
  sweep: Sweep;
  brushes: Brushes;
  mark: (trial: number | null) => void;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { sweep, brushes, trans } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [filter, setFilter] = useViewState<TrialFilter>('filter', 'all');
  const order = useSteadyOrder(
    () => ({ keys: bestFirst(sweep), by: null }),
    `${sweep.id} ${sweep.trials.length} ${sweep.state}`,
    body
  );
  const axes = axesOf(sweep);
  const shown = order
    .map(number => sweep.trials[number])
    .filter(Boolean)
    .filter(t => passes(t, filter) && within(t, axes, brushes));
  const [first, more] = useFirstRows(shown, trans);
  const names = Object.keys(sweep.space);
  const filters: [TrialFilter, string][] = [
    ['all', trans.__('All')],
    ['active', trans.__('Active')],
    ['done', trans.__('Done')],
    ['pruned', trans.__('Stopped early')],
    ['failed', trans.__('Failed or stopped')]
  ];
  return (
    <section className="jp-DtrainSweep-trials">
      <h2 className="jp-DtrainUi-hidden">{trans.__('Trials')}</h2>
      <FilterChips<TrialFilter>
        label={trans.__('Which trials')}
        filters={filters}
        chosen={filter}
        count={key => sweep.trials.filter(t => passes(t, key)).length}
        choose={setFilter}
      />
      <div className="jp-DtrainSweep-scroll">
        <table className="jp-DtrainUi-table jp-DtrainSweep-table">
          <thead>
            <tr>
              <th scope="col">{trans.__('Trial')}</th>
              <th scope="col" className="jp-DtrainSweep-number">
                {sweep.objective}
              </th>
              {names.map(name => (
                <th key={name} scope="col" className="jp-DtrainSweep-number">
                  {name}
                </th>
              ))}
              <th scope="col" className="jp-DtrainSweep-number">
                {trans.__('Step')}
              </th>
              <th scope="col" className="jp-DtrainSweep-number">
                {trans.__('Time')}
              </th>
              <th scope="col">{trans.__('Course')}</th>
            </tr>
          </thead>
          <tbody ref={body}>
            {first.map(trial => (
              <Row key={trial.number} {...props} trial={trial} names={names} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length === 0 && sweep.trials.length > 0 && (
        <p className="jp-DtrainUi-under">
          {trans.__('No trial matches this filter.')}
        </p>
      )}
      {more}
    </section>
  );
}

function menuOfTrial(trial: Trial): IMenuItem[] {
  const args = { id: trial.job ?? '', name: String(trial.number) };
  return trial.job
    ? [
        { command: CommandIDs.openJob, args },
        { command: CommandIDs.openExecuted, args },
        { command: CommandIDs.duplicateJob, args }
      ]
    : [];
}

function Row(props: {
  sweep: Sweep;
  trial: Trial;
  names: readonly string[];
  mark: (trial: number | null) => void;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { sweep, trial, names, commands, trans } = props;
  const best = sweep.best?.number === trial.number;
  const label = trans.__('Trial %1', trial.number);
  const ran = trial.state === 'resumed' || trial.resumes > 0;
  return (
    <tr
      data-trial={trial.number}
      data-state={trial.state}
      data-best={best || undefined}
      onMouseEnter={() => props.mark(trial.number)}
      onMouseLeave={() => props.mark(null)}
      onFocus={() => props.mark(trial.number)}
      onBlur={() => props.mark(null)}
      onContextMenu={event =>
        trial.job && openContextMenu(event, commands, menuOfTrial(trial))
      }
    >
      <td>
        <Glyph kind={trialGlyph(trial)} label={trialState(trial, trans)} />
        <div>
          {trial.job ? (
            <CommandLink
              command={CommandIDs.openJob}
              args={{ id: trial.job, name: `${sweep.name} ${trial.number}` }}
              commands={commands}
              className="jp-DtrainUi-name"
            >
              <b>{label}</b>
            </CommandLink>
          ) : (
            <b>{label}</b>
          )}{' '}
          <span>{trialState(trial, trans)}</span>
          {best && (
            <span className="jp-DtrainSweep-mark">{trans.__('best')}</span>
          )}
          {(trial.reason || ran) && (
            <p className="jp-DtrainUi-under">
              {trial.reason
                ? reasonText(trial.reason, trans)
                : resumedText(trial, trans)}
            </p>
          )}
        </div>
      </td>
      <td className="jp-DtrainSweep-number">
        <b>{formatValue(trial.value)}</b>
      </td>
      {names.map(name => (
        <td key={name} className="jp-DtrainSweep-number">
          {formatValue(trial.parameters[name])}
        </td>
      ))}
      <td className="jp-DtrainSweep-number">
        {trial.step === null ? UNKNOWN : trial.step.toLocaleString()}
      </td>
      <td className="jp-DtrainSweep-number">
        {formatRun(trial.ran_s, !passes(trial, 'active'))}
      </td>
      <td>
        <Curve trial={trial} objective={sweep.objective} trans={trans} />
      </td>
    </tr>
  );
}

const WIDE = 84;
const HIGH = 20;

/** The objective of a trial over its steps. */
function Curve(props: {
  trial: Trial;
  objective: string;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { curve } = props.trial;
  if (curve.length < 2) {
    return null;
  }
  const values = curve.map(report => report.value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const first = curve[0].step;
  const last = curve[curve.length - 1].step;
  const points = curve.map(({ step, value }) => {
    const x = 1 + ((step - first) / (last - first || 1)) * (WIDE - 2);
    const y = HIGH - 2 - ((value - low) / (high - low || 1)) * (HIGH - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg
      className="jp-DtrainSweep-curve"
      width={WIDE}
      height={HIGH}
      role="img"
      aria-label={props.trans.__(
        '%1 from %2 to %3',
        props.objective,
        formatValue(values[0]),
        formatValue(values[values.length - 1])
      )}
    >
      <polyline points={points.join(' ')} />
    </svg>
  );
}
