import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatRate, unbroken } from '../metrics/format';
import { shareInText } from '../metrics/share';
import { Glyph } from '../ui/icons/glyph';
import { shownMetrics } from '../metrics/currentMetrics';
import { sentence } from '../verdicts/sentence';
import { foundIn, IOutcome, isStopped, soFar } from './runs/outcome';
import { Choice } from './lines/parts';
import {
  glyphOf,
  IRunStatus,
  keepsVariables,
  lostText,
  timeText,
  problemOf,
  problemText
} from './runStatus';

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
  /** Outcome of a failed cell; empty if unknown. */
  outcome: IOutcome;
  actions: IBarActions;
  trans: TranslationBundle;
}): JSX.Element {
  const { status, ranks, trans, actions } = props;
  const { state, cluster } = status;
  const problem = problemOf(status);
  // without a connection to the server, the current state is unknown
  const unheard = lostText(status, trans);
  const failing = unheard ? '' : soFar(status.record, trans);
  const alarm = (!!problem?.alarm || !!failing) && !unheard;
  const { head, rest } = props.outcome;
  const stopped = state === 'failed' && isStopped(status.said, head);
  const glyph: ReturnType<typeof glyphOf> = stopped
    ? { kind: 'interrupted', word: trans.__('stopped') }
    : glyphOf(status, trans);
  const paused = glyph?.kind === 'paused';
  const failed = state === 'failed' && !stopped;
  const time = unbroken(timeText(status, trans));
  const failure = rest ? `${head} ${rest}` : head;
  // the ranks of a cell that has not reached its cluster yet are unknown
  const count = ranks.length > 0 && (
    <b>{trans._n('%1 rank', '%1 ranks', ranks.length)}</b>
  );
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
        {unheard ? (
          <>
            {count} <span>{unheard}</span>
          </>
        ) : alarm && problem?.alarm ? (
          <>
            {/* the time changes: it can be read, but is not announced each second */}
            <span className="jp-DtrainUi-hidden" role="alert">
              {problem.text}
            </span>
            <b>{unbroken(problemText(problem, trans))}</b>
          </>
        ) : failing ? (
          <>
            <b role="alert">{failing}</b> <span>{time}</span>
          </>
        ) : failed ? (
          <Said head={head || trans.__('Failed.')} text={rest} time={time} />
        ) : stopped ? (
          <>
            <b>{head}</b> <span>{time}</span>
          </>
        ) : state === 'interrupted' ? (
          <Said
            head={
              status.restarted
                ? trans.__('Interrupted by a restart of the kernel.')
                : trans.__('Interrupted.')
            }
            text={
              !status.plain && failure
                ? failure
                : [
                    foundIn(status.said, trans),
                    keepsVariables(status)
                      ? trans.__('The ranks keep their variables.')
                      : ''
                  ]
                    .filter(Boolean)
                    .join(' ')
            }
            time={time}
            title={failure}
          />
        ) : state === 'not run' ? (
          <b>{failure || trans.__('This cell was not run.')}</b>
        ) : status.noEnd ? (
          <>
            {count} <span>{trans.__('How this run ended is not known.')}</span>
          </>
        ) : paused && cluster ? (
          <>
            <b>{sentence(cluster, trans)}</b> <span>{time}</span>
          </>
        ) : (
          <>
            {count} <span>{time}</span>{' '}
            {problem && <span>{unbroken(problemText(problem, trans))}</span>}{' '}
            {state === 'running' && problem?.kind !== 'unknown' && (
              <span>{unbroken(metricsText(status, trans))}</span>
            )}
          </>
        )}
      </span>
      {ranks.length > 1 && <Chips {...props} />}
      {alarm && (
        <span className="jp-DtrainOutput-chips">
          <Action
            label={trans.__('Interrupt')}
            title={trans.__('Interrupt, keep variables')}
            act={actions.interrupt}
            why={trans.__('You may not interrupt this cluster.')}
          />
          <Action
            label={trans.__('Stacks')}
            title={trans.__('Where each rank is')}
            act={actions.stacks}
            why={trans.__('You may not see the stacks of this cluster.')}
          />
        </span>
      )}
    </div>
  );
}

/** How a cell ended, and its time, in one inline text, so that the time is never alone in a line. */
function Said(props: {
  head: string;
  text: string;
  time: string;
  title?: string;
}): JSX.Element {
  const { head, text, time, title } = props;
  const last = text.lastIndexOf(' ') + 1;
  return (
    <span className="jp-DtrainOutput-said" title={title || undefined}>
      <b>{head}</b> {text.slice(0, last)}
      <span>
        {text && <span>{text.slice(last)}</span>} {time}
      </span>
    </span>
  );
}

/** A button that says why it is disabled. */
export function Action(props: {
  label: string;
  act: (() => void) | null;
  why: string;
  title?: string;
}): JSX.Element {
  const { label, act, why, title } = props;
  return (
    <button
      type="button"
      className="jp-DtrainOutput-button"
      aria-disabled={act ? undefined : true}
      title={act ? title : why}
      onClick={() => act?.()}
    >
      {label}
    </button>
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

/** Throughput and communication; empty when no steps are taken any more. */
function metricsText(status: IRunStatus, trans: TranslationBundle): string {
  const metrics = status.cluster?.metrics;
  const now = metrics && shownMetrics(metrics);
  if (!now?.current || now.samples === null) {
    return '';
  }
  const { samples, overhead, error } = now;
  return unbroken(
    trans.__(
      '%1 samples/s · communication %2',
      formatRate(samples),
      shareInText(overhead, error, trans)
    )
  );
}
