import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { formatRanks, formatValue } from '../../ui/figures/format';
import { AcrossRow, DebugModel } from '../model/model';
import { IDifferences } from '../model/variables';

interface IProps {
  model: DebugModel;
  trans: TranslationBundle;
  onError: (error: unknown) => void;
}

/** Expressions over all ranks: what is the same is folded, what differs is bold. */
export function CompareValues({ model, trans, onError }: IProps): JSX.Element {
  const [text, setText] = useState('');
  return (
    <div className="jp-DtrainDebug-across">
      <Differences model={model} trans={trans} onError={onError} />
      <table aria-label={trans.__('Expressions across ranks')}>
        <thead>
          <tr>
            <th scope="col">{trans.__('Expression')}</th>
            <th scope="col">{trans.__('Across ranks')}</th>
            <th scope="col">
              <span className="jp-DtrainUi-hidden">{trans.__('Remove')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {model.rows.map(({ expression, row }) => (
            <tr key={expression} data-expression={expression}>
              <th scope="row">
                <code>{expression}</code>
              </th>
              <td>
                {row && (
                  <Values
                    row={row}
                    model={model}
                    trans={trans}
                    onError={onError}
                  />
                )}
              </td>
              <td className="jp-DtrainDebug-acrossEnd">
                <button
                  type="button"
                  className="jp-DtrainUi-link"
                  aria-label={trans.__('Remove %1', expression)}
                  onClick={() => model.forget(expression)}
                >
                  ×
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <form
        onSubmit={event => {
          event.preventDefault();
          model.compare(text);
          setText('');
        }}
      >
        <input
          aria-label={trans.__('Add an expression')}
          placeholder={trans.__('Add an expression…')}
          value={text}
          onChange={event => setText(event.target.value)}
        />
      </form>
    </div>
  );
}

/** The variables of the frame that is looked at in which ranks differ. */
function Differences({ model, trans, onError }: IProps): JSX.Element | null {
  const { differences: found, view } = model;
  if (!view?.on || !view.ranks.some(r => r.phase === 'paused')) {
    return null;
  }
  const idle = view.ranks.filter(r => r.phase === 'idle').map(r => r.rank);
  if (!found) {
    return (
      <p>
        <button
          type="button"
          className="jp-DtrainUi-link"
          onClick={() => void model.compareVariables().catch(onError)}
        >
          {trans.__('Compare variables')}
        </button>
      </p>
    );
  }
  return (
    <>
      <p className="jp-DtrainUi-under" role="status">
        {differencesText(found, trans)}
      </p>
      {idle.length > 0 && found.rows.length > 0 && (
        <p className="jp-DtrainUi-under">
          {trans._n(
            'Rank %2 is not stopped: its values are those after its last cell.',
            'Ranks %2 are not stopped: their values are those after their last cell.',
            idle.length,
            formatRanks(idle)
          )}
        </p>
      )}
      {found.rows.length > 0 && (
        <table aria-label={trans.__('Variables that differ')}>
          <tbody>
            {found.rows.map(row => (
              <tr key={row.expression} data-variable={row.expression}>
                <th scope="row">
                  <code>{row.expression}</code>
                </th>
                <td>
                  <Values
                    row={row}
                    model={model}
                    trans={trans}
                    onError={onError}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function differencesText(
  { rows, same, own, left }: IDifferences,
  trans: TranslationBundle
): string {
  if (left) {
    return trans.__('Comparing variables…');
  }
  const parts = [
    trans._n('%1 variable differs', '%1 variables differ', rows.length),
    trans._n('%1 is the same', '%1 are the same', same),
    trans._n('%1 is only on this rank', '%1 are only on this rank', own)
  ];
  const told = parts.filter((_, i) => [rows.length, same, own][i] || i === 0);
  return `${told.join(', ')}.`;
}

function Values(props: IProps & { row: AcrossRow }): JSX.Element {
  const { row, model, trans, onError } = props;
  const [first] = row.groups;
  return (
    <>
      <div title={first ? details(first, trans) : undefined}>{row.text}</div>
      {!row.same &&
        row.groups.slice(0, MOST).map(group => (
          <div key={group.ranks[0]} data-outlier={group.outlier || undefined}>
            <span className="jp-DtrainUi-hidden">{trans.__('Ranks')} </span>
            <b title={details(group, trans)}>
              {formatRanks(group.ranks)}: {group.text}
              {group.nans > 0 && `, ${trans.__('%1 NaN', group.nans)}`}
              {group.max_abs !== null &&
                `, ${trans.__('largest difference %1', formatValue(group.max_abs, 2))}`}
            </b>{' '}
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
      {row.running.length > 0 && (
        <div className="jp-DtrainUi-under">
          {trans._n(
            'rank %2 runs',
            'ranks %2 run',
            row.running.length,
            formatRanks(row.running)
          )}
        </div>
      )}
      {row.groups.length > MOST && (
        <div className="jp-DtrainUi-under">
          {trans.__('… and %1 more', row.groups.length - MOST)}
        </div>
      )}
    </>
  );
}

/** Groups of ranks that a row shows. */
const MOST = 8;

function details(
  group: AcrossRow['groups'][number],
  trans: TranslationBundle
): string {
  if (!group.dtype || !group.shape) {
    return group.text;
  }
  const parts = [
    `${group.dtype}[${group.shape.join(', ')}]`,
    group.device ?? ''
  ];
  if (group.norm !== null) {
    parts.push(trans.__('norm %1', formatValue(group.norm)));
  }
  return parts.filter(Boolean).join(' · ');
}
