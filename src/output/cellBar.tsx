import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Action } from '../ui/actionButton';
import { Glyph } from '../ui/icons/glyph';
import { BarText } from './barText';
import { IOutcome, isStopped, soFar } from './runs/outcome';
import { Choice } from './lines/parts';
import { IRunStatus, problemOf } from './runStatus';
import { glyphOf, lostText } from './runTexts';

/** Maximum number of rank chips; with more ranks, a list is used. */
const MOST_CHIPS = 16;

/** Actions of the bar. */
export interface IBarActions {
  choose: (choice: Choice) => void;
  /** Null if impossible. */
  interrupt: (() => void) | null;
  stacks: (() => void) | null;
}

/** The bar of a cell: state, time, metrics; choice of the output, or actions in case of problem. */
export function Bar(props: {
  status: IRunStatus;
  ranks: readonly number[];
  choice: Choice;
  /** Whether the output displayed can be chosen. */
  hasChoice: boolean;
  /** Outcome of a failed cell; empty if unknown. */
  outcome: IOutcome;
  actions: IBarActions;
  trans: TranslationBundle;
}): JSX.Element {
  const { status, trans, actions } = props;
  const { state } = status;
  const problem = problemOf(status);
  // without a connection to the server, the current state is unknown
  const unheard = lostText(status, trans);
  const failing = unheard ? '' : soFar(status.record, trans);
  const alarm = (!!problem?.alarm || !!failing) && !unheard;
  const stopped =
    state === 'failed' && isStopped(status.said, props.outcome.head);
  const glyph: ReturnType<typeof glyphOf> = stopped
    ? { kind: 'interrupted', word: trans.__('stopped') }
    : glyphOf(status, trans);
  const paused = glyph?.kind === 'paused';
  const failed = state === 'failed' && !stopped;
  return (
    <div
      className="jp-DtrainOutput-bar"
      data-state={state ?? undefined}
      data-paused={paused || undefined}
      data-failed={failed || alarm || undefined}
      role="group"
      aria-label={trans.__('Output of ranks')}
    >
      {glyph && <Glyph kind={glyph.kind} label={glyph.word} />}
      <span className="jp-DtrainOutput-state">
        <BarText
          {...props}
          unheard={unheard}
          failing={failing}
          alarm={alarm}
          stopped={stopped}
          paused={paused}
        />
      </span>
      {props.hasChoice && <Chips {...props} />}
      {alarm && (
        <span className="jp-DtrainOutput-chips">
          <Action
            label={trans.__('Interrupt')}
            className="jp-DtrainOutput-button"
            title={trans.__('Interrupt, keep variables')}
            why={
              actions.interrupt
                ? null
                : trans.__('You may not interrupt this cluster.')
            }
            onClick={() => actions.interrupt?.()}
          />
          <Action
            label={trans.__('Stacks')}
            className="jp-DtrainOutput-button"
            title={trans.__('Where each rank is')}
            why={
              actions.stacks
                ? null
                : trans.__('You may not see the stacks of this cluster.')
            }
            onClick={() => actions.stacks?.()}
          />
        </span>
      )}
    </div>
  );
}

function Chips(props: {
  ranks: readonly number[];
  choice: Choice;
  actions: IBarActions;
  trans: TranslationBundle;
}): JSX.Element {
  const { ranks, choice, actions, trans } = props;
  const many = ranks.length > MOST_CHIPS;
  const chips: Choice[] = ['together', 'by rank', ...(many ? [] : ranks)];
  return (
    <span className="jp-DtrainOutput-chips">
      {chips.map(chip => (
        <button
          key={chip}
          type="button"
          aria-pressed={choice === chip}
          aria-label={
            typeof chip === 'number' ? trans.__('Rank %1', chip) : undefined
          }
          onClick={() => actions.choose(chip)}
        >
          <span>
            {chip === 'together'
              ? trans.__('Together')
              : chip === 'by rank'
                ? trans.__('By rank')
                : chip}
          </span>
        </button>
      ))}
      {many && (
        <select
          aria-label={trans.__('Show one rank')}
          value={typeof choice === 'number' ? choice : ''}
          onChange={event =>
            actions.choose(
              event.target.value === ''
                ? 'together'
                : Number(event.target.value)
            )
          }
        >
          <option value="">{trans.__('Rank…')}</option>
          {ranks.map(rank => (
            <option key={rank} value={rank}>
              {trans.__('Rank %1', rank)}
            </option>
          ))}
        </select>
      )}
    </span>
  );
}
