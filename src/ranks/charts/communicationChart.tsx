import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster, IPoint } from '../../tokens';
import { formatShare, UNKNOWN } from '../../metrics/format';
import { shownMetrics } from '../../metrics/currentMetrics';
import {
  errorOfParts,
  isVague,
  lastShare,
  plusMinus,
  shareWithoutError,
  vagueText
} from '../../metrics/share';
import { isSplitVague, shareTexts, shownSplit } from '../../metrics/split';
import { TimeChart } from './chart';
import { communicationLines } from '../../metrics/communicationLines';
import { IAxis, trains } from './timeAxis';

/** What the charts of a cluster are drawn of. */
export interface IChartsProps {
  cluster: Cluster;
  points: readonly IPoint[];
  axis: IAxis;
  trans: TranslationBundle;
}

/** The share of communication in a step, and its parts. */
export function Communication(props: IChartsProps): JSX.Element {
  const { cluster, points, axis, trans } = props;
  const { metrics } = cluster;
  const error = metrics.comm_overhead_error;
  const now = shownMetrics(metrics);
  const vague = now.overhead !== null && isVague(now.error);
  const atLeast = metrics.comm_bound === 'lower';
  // if no steps are taken now, the panel's text
  const last = lastShare(now, metrics.measured, trans);
  const share =
    last !== null || vague
      ? ''
      : now.current
        ? shareWithoutError(metrics.comm_overhead, atLeast ? null : error)
        : UNKNOWN;
  const off = plusMinus(metrics.comm_overhead, error);
  const lines = communicationLines(points, atLeast);
  const ofStep =
    last ??
    (vague
      ? vagueText(trans)
      : atLeast
        ? trans.__('of the step, or more')
        : off
          ? trans.__('%1 of the step', off)
          : trans.__('of the step'));
  const told = `${share} ${ofStep}`.trim();
  return (
    <section>
      <h3>
        <span className="jp-DtrainRanks-chartName">
          {trans.__('Communication')}
          <Parts
            {...props}
            bounds={lines.bounds}
            drawn={lines.whole.some(value => value !== null)}
          />
        </span>
        <span title={told}>
          {share && (
            <>
              <b>{share}</b>{' '}
            </>
          )}
          {ofStep}
        </span>
      </h3>
      <TimeChart
        {...axis}
        none={
          lines.vague
            ? trans.__('Communication was too unsteady to tell.')
            : points.some(trains)
              ? trans.__('Communication is unknown.')
              : axis.none
        }
        series={[
          {
            label: trans.__('bound'),
            values: lines.bound,
            colour: '--jp-ui-font-color1',
            dashed: true
          },
          {
            label: trans.__('with waiting'),
            values: lines.whole,
            colour: '--jp-warn-color1',
            hatched: true
          },
          {
            label: trans.__('transfer'),
            values: lines.transfer,
            colour: '--jp-brand-color1',
            filled: true
          }
        ]}
        format={formatShare}
        summary={trans.__('Communication: %1', told)}
      />
    </section>
  );
}

/**
 * Transfer and waiting, the parts of communication. After training has ended there are no present shares, but the last
 * minutes are still in the chart: a short training is a lone peak, mostly of ranks that wait for each other, which
 * their names explain as long as it is there.
 */
function Parts(
  props: IChartsProps & {
    bounds: 'most' | 'least' | 'both' | null;
    /** Whether any of them is in the chart. */
    drawn: boolean;
  }
): JSX.Element | null {
  const { bounds, drawn, trans } = props;
  const { metrics } = props.cluster;
  const split = shownSplit(metrics);
  // rounded as in the legends of a whole step
  const shares = split && shareTexts(split);
  if (!split && !isSplitVague(metrics) && !drawn && !bounds) {
    return null;
  }
  const apart = errorOfParts(
    metrics.comm_overhead,
    metrics.comm_bound === 'lower' ? null : metrics.comm_overhead_error,
    trans
  );
  return (
    <span className="jp-DtrainUi-legend">
      <span data-part="transfer">
        {shares
          ? trans.__('transfer %1', shares.transfer)
          : trans.__('transfer')}
      </span>
      <span data-part="waiting">
        {shares ? trans.__('waiting %1', shares.waiting) : trans.__('waiting')}
      </span>
      {bounds && <span data-part="bound">{boundText(bounds, trans)}</span>}
      {split && apart && <small>{apart}</small>}
    </span>
  );
}

/** What the dashed line is. */
function boundText(
  bounds: 'most' | 'least' | 'both',
  trans: TranslationBundle
): string {
  switch (bounds) {
    case 'most':
      return trans.__('at most');
    case 'least':
      return trans.__('at least');
    default:
      return trans.__('at most, or at least');
  }
}
