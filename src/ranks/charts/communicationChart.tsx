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
import { splitOf } from '../../metrics/split';
import { TimeChart } from './chart';
import { communicationLines } from '../../metrics/communicationLines';
import { IAxis } from './timeAxis';

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
  const share = !now.current
    ? UNKNOWN
    : vague
      ? ''
      : shareWithoutError(metrics.comm_overhead, atLeast ? null : error);
  const off = plusMinus(metrics.comm_overhead, error);
  const lines = communicationLines(points, atLeast);
  // if no steps are taken now, the panel's text
  const ofStep =
    lastShare(now, metrics.measured, trans) ??
    (vague
      ? vagueText(trans)
      : atLeast
        ? trans.__('of the step, or more')
        : off
          ? trans.__('%1 of the step', off)
          : trans.__('of the step'));
  return (
    <section>
      <h3>
        <span className="jp-DtrainRanks-chartName">
          {trans.__('Communication')}
          <Parts {...props} vague={vague} bounds={lines.bounds} />
        </span>
        <span title={`${share} ${ofStep}`.trim()}>
          <b>{share}</b> {ofStep}
        </span>
      </h3>
      <TimeChart
        {...axis}
        none={
          lines.vague
            ? trans.__('Communication was too unsteady to tell.')
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
        summary={trans.__('Communication: %1 of the step now', share)}
      />
    </section>
  );
}

/** Transfer and waiting, the parts of communication; nothing where they are not known. */
function Parts(
  props: IChartsProps & {
    /** Whether their sum is too unsteady to tell. */
    vague: boolean;
    bounds: 'most' | 'least' | 'both' | null;
  }
): JSX.Element | null {
  const { vague, bounds, trans } = props;
  const { metrics } = props.cluster;
  const split = splitOf(metrics);
  if (!split) {
    return null;
  }
  const apart = errorOfParts(
    metrics.comm_overhead,
    metrics.comm_bound === 'lower' ? null : metrics.comm_overhead_error,
    trans
  );
  return (
    <span className="jp-DtrainUi-legend">
      {/* its parts are as uncertain as their sum */}
      <span data-part="transfer">
        {vague
          ? trans.__('transfer')
          : trans.__('transfer %1', formatShare(split.transfer))}
      </span>
      <span data-part="waiting">
        {vague
          ? trans.__('waiting')
          : trans.__('waiting %1', formatShare(split.waiting))}
      </span>
      {bounds && <span data-part="bound">{boundText(bounds, trans)}</span>}
      {apart && <small>{apart}</small>}
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
