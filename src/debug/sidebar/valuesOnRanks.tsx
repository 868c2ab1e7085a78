import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatRanks, formatValue } from '../../metrics/format';
import { DebugModel, DebugView } from '../model/model';
import { AcrossRow } from '../model/compareVariables';
import { runningText } from '../model/texts';

/** The values of an expression, and which ranks have them. */
export function Values(props: {
  row: AcrossRow;
  model: DebugModel;
  view: DebugView | null;
  trans: TranslationBundle;
  /** Called with an error. */
  onError: (error: unknown) => void;
}): JSX.Element {
  const { row, model, view, trans, onError } = props;
  const [first] = row.groups;
  const most = farthest(row.groups);
  return (
    <>
      <div title={row.groups.length === 1 ? details(first, trans) : undefined}>
        {first || !row.running.length
          ? row.text
          : trans.__('not looked at: %1', runningText(row, view, trans))}
      </div>
      {row.groups.length > 1 &&
        row.groups.slice(0, MOST).map(group => (
          <div key={group.ranks[0]} data-outlier={group.outlier || undefined}>
            <b title={details(group, trans)}>{groupText(group, trans)}</b>{' '}
            {group.outlier && (
              <button
                type="button"
                className="jp-DtrainUi-link"
                onClick={() => void model.focus(group.ranks[0]).catch(onError)}
              >
                {trans.__('Look at rank %1', group.ranks[0])}
              </button>
            )}
          </div>
        ))}
      {row.groups.length > 1 && most !== null && (
        <div className="jp-DtrainUi-under">
          {trans.__('Largest difference %1', formatValue(most, 2))}
        </div>
      )}
      {row.running.length > 0 && row.groups.length > 0 && (
        <div className="jp-DtrainUi-under">{runningText(row, view, trans)}</div>
      )}
      {row.groups.length > MOST && (
        <div className="jp-DtrainUi-under">
          {trans.__('… and %1 more', row.groups.length - MOST)}
        </div>
      )}
    </>
  );
}

/** "Rank 3: 1.842", "Ranks 0–2: 1.731": whose value it is. */
function ofRanks(
  { ranks, text }: AcrossRow['groups'][number],
  trans: TranslationBundle
): string {
  return trans._n(
    'Rank\u00a0%2: %3',
    'Ranks\u00a0%2: %3',
    ranks.length,
    formatRanks(ranks),
    text
  );
}

/** The same, with what is conspicuous about it. */
function groupText(
  group: AcrossRow['groups'][number],
  trans: TranslationBundle
): string {
  const { nans } = group;
  const value = ofRanks(group, trans);
  return nans > 0 ? trans.__('%1, %2 NaN', value, nans) : value;
}

/** How far the values of ranks are apart, of all groups: beside one group, it would read as if it were that one's. */
export function farthest(groups: AcrossRow['groups']): number | null {
  const known = groups.flatMap(({ max_abs: most }) => most ?? []);
  return known.length ? Math.max(...known) : null;
}

/** Maximum number of groups of ranks in a row. */
const MOST = 8;

/** A value in full, shown while it is pointed at. */
function details(
  group: AcrossRow['groups'][number],
  trans: TranslationBundle
): string {
  const exact = group.exact || group.text;
  if (!group.dtype || !group.shape) {
    return exact;
  }
  const parts = [
    group.exact,
    `${group.dtype}[${group.shape.join(', ')}]`,
    group.device ?? ''
  ];
  if (group.norm !== null) {
    parts.push(trans.__('norm %1', formatValue(group.norm)));
  }
  return parts.filter(Boolean).join(' · ');
}
