import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatRate, unbroken } from '../metrics/format';
import { isVague, shareInText } from '../metrics/share';
import { shownMetrics } from '../metrics/currentMetrics';
import { sentence } from '../verdicts/sentence';
import { interruptedOperations, IOutcome } from './runs/outcome';
import { IRunStatus, problemOf, variablesSurvive } from './runStatus';
import { problemText, timeText } from './runTexts';

/** What a cell does, or how it ended, with its time. */
export function BarText(props: {
  status: IRunStatus;
  ranks: readonly number[];
  outcome: IOutcome;
  /** Why the current state is unknown; empty if it is known. */
  unheard: string;
  /** What has failed so far in a cell that still runs; empty for nothing. */
  failing: string;
  alarm: boolean;
  stopped: boolean;
  paused: boolean;
  trans: TranslationBundle;
}): JSX.Element {
  const { status, ranks, unheard, failing, trans } = props;
  const { state, cluster } = status;
  const { head, rest } = props.outcome;
  const problem = problemOf(status);
  const time = unbroken(timeText(status, trans));
  const lost = status.partial && (
    <span>{trans.__('Output that was not saved is lost.')}</span>
  );
  // the ranks of a cell that has not reached its cluster yet are unknown, or there are none
  const count = ranks.length > 0 && !status.starts && (
    <b>{trans._n('%1 rank', '%1 ranks', ranks.length)}</b>
  );
  if (unheard) {
    return (
      <>
        {count} <span>{unheard}</span>
      </>
    );
  }
  if (props.alarm && problem?.alarm) {
    return (
      <>
        {/* the time changes: it can be read, but is not announced each second */}
        <span className="jp-DtrainUi-hidden" role="alert">
          {problem.text}
        </span>
        <b>{unbroken(problemText(problem, trans))}</b>
      </>
    );
  }
  if (failing) {
    return (
      <>
        <b role="alert">{failing}</b> <span>{time}</span>
      </>
    );
  }
  if (props.stopped) {
    return (
      <>
        <b>{head}</b> <span>{time}</span> {lost}
      </>
    );
  }
  if (state === 'failed') {
    return (
      <>
        <Said head={head || trans.__('Failed.')} text={rest} time={time} />{' '}
        {lost}
      </>
    );
  }
  if (state === 'interrupted') {
    return (
      <>
        <Interrupted {...props} time={time} /> {lost}
      </>
    );
  }
  if (state === 'not run') {
    const why = rest ? `${head} ${rest}` : head;
    return <b>{why || trans.__('This cell was not run.')}</b>;
  }
  if (status.noEnd) {
    return (
      <>
        {count}{' '}
        <span>{trans.__('The outcome of this run is not known here.')}</span>
      </>
    );
  }
  if (props.paused && cluster) {
    // the time since its start would read as time for which it has run
    return <b>{unbroken(sentence(cluster, trans))}</b>;
  }
  return (
    <>
      {count} <span>{time}</span> {lost}
      {problem && <span>{unbroken(problemText(problem, trans))}</span>}{' '}
      {state === 'running' && problem?.kind !== 'unknown' && (
        <span>
          {unbroken(
            metricsText(status, problem?.kind === 'input_bound', trans)
          )}
        </span>
      )}
    </>
  );
}

/** That a cell was interrupted, and what that left. */
function Interrupted(props: {
  status: IRunStatus;
  outcome: IOutcome;
  time: string;
  trans: TranslationBundle;
}): JSX.Element {
  const { status, time, trans } = props;
  const { head, rest } = props.outcome;
  const failure = rest ? `${head} ${rest}` : head;
  const left = [
    interruptedOperations(status.said, trans),
    variablesSurvive(status) ? trans.__('The ranks keep their variables.') : ''
  ];
  return (
    <Said
      head={
        status.restarted
          ? trans.__('Interrupted by a restart of the kernel.')
          : trans.__('Interrupted.')
      }
      text={!status.plain && failure ? failure : left.filter(Boolean).join(' ')}
      time={time}
      title={failure}
    />
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

/**
 * Throughput and communication, as far as they are known; empty when no steps are taken any more.
 *
 * @param hungry - whether ranks wait for data, so that communication is not what takes the time
 */
function metricsText(
  status: IRunStatus,
  hungry: boolean,
  trans: TranslationBundle
): string {
  const metrics = status.cluster?.metrics;
  const now = metrics && shownMetrics(metrics);
  if (!now?.current) {
    return '';
  }
  const { samples, overhead, error } = now;
  if (samples === null) {
    return hungry || overhead === null || isVague(error)
      ? ''
      : trans.__('communication %1', shareInText(overhead, error, trans));
  }
  if (hungry) {
    return trans.__('%1 samples/s', formatRate(samples));
  }
  return unbroken(
    trans.__(
      '%1 samples/s · communication %2',
      formatRate(samples),
      shareInText(overhead, error, trans)
    )
  );
}
