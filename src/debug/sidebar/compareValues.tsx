import { TranslationBundle } from '@jupyterlab/translation';
import React, { useEffect, useId, useRef, useState } from 'react';

import { formatRanks, unbroken } from '../../metrics/format';
import { DebugModel, DebugView } from '../model/model';
import { IDifferences } from '../model/compareVariables';
import { OnlyOnSome } from './onlyOnSome';
import { GROWS } from './sectionHeights';
import { Values } from './valuesOnRanks';

interface IProps {
  model: DebugModel;
  view: DebugView | null;
  trans: TranslationBundle;
  onError: (error: unknown) => void;
}

/** Expressions on all ranks: equal values are folded, different ones are bold. */
export function CompareValues(props: IProps): JSX.Element {
  const { model, trans } = props;
  const [text, setText] = useState('');
  const [wrong, setWrong] = useState('');
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const list = useRef<HTMLTableElement>(null);
  const height = model.rows.map(({ row }) => row?.groups.length ?? 0).join();
  // the newest expression and the field stay in view while values come above them
  useEffect(() => {
    const timer = window.setTimeout(() => {
      if (form.current?.contains(document.activeElement)) {
        list.current?.rows[list.current.rows.length - 1]?.scrollIntoView({
          block: 'nearest'
        });
        form.current.scrollIntoView({ block: 'nearest' });
      }
    }, GROWS);
    return () => window.clearTimeout(timer);
  }, [height]);
  return (
    <div className="jp-DtrainDebug-across">
      <div className="jp-DtrainDebug-acrossList">
        <div>
          <Differences {...props} />
          {model.rows.length > 0 && <Expressions {...props} list={list} />}
        </div>
      </div>
      <form
        ref={form}
        onSubmit={event => {
          event.preventDefault();
          const field = event.currentTarget.elements[0] as HTMLInputElement;
          model.compare(text).catch((reason: unknown) => {
            const why =
              reason instanceof Error ? reason.message : String(reason);
            // restore the text to be corrected, unless the user is already typing the next expression
            setText(typed => typed || text);
            setWrong(field.value ? trans.__('%1: %2', text, why) : why);
          });
          setText('');
        }}
      >
        <input
          aria-label={trans.__('Add an expression')}
          placeholder={trans.__('Add an expression…')}
          value={text}
          onChange={event => {
            setText(event.target.value);
            setWrong('');
          }}
          aria-invalid={wrong !== ''}
          aria-describedby={wrong ? id : undefined}
        />
        {wrong && (
          <p id={id} role="alert" className="jp-DtrainDebug-error">
            {wrong}
          </p>
        )}
      </form>
    </div>
  );
}

/** Expressions with their values, and a button to remove each. */
function Expressions(
  props: IProps & { list: React.RefObject<HTMLTableElement> }
): JSX.Element {
  const { model, trans, list } = props;
  return (
    <table ref={list} aria-label={trans.__('Expressions across ranks')}>
      {/* for screen readers: the section's title and the field say as much */}
      <thead className="jp-DtrainUi-hidden">
        <tr>
          <th scope="col">{trans.__('Expression')}</th>
          <th scope="col">{trans.__('Across ranks')}</th>
          <th scope="col">{trans.__('Remove')}</th>
        </tr>
      </thead>
      <tbody>
        {model.rows.map(({ expression, row }) => (
          <tr key={expression} data-expression={expression}>
            <th scope="row">
              <code>{expression}</code>
            </th>
            <td>{row && <Values {...props} row={row} />}</td>
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
  );
}

/** The variables of a paused rank's frame that differ between ranks. */
function Differences(props: IProps): JSX.Element | null {
  const { model, view, trans, onError } = props;
  const { differences: found } = model;
  const differing = useRef<HTMLTableElement>(null);
  const isAsked = useRef(false);
  const isDone = !!found && !found.left;
  // what the user has asked for is in view, also where the section is low
  useEffect(() => {
    if (!isDone || !isAsked.current) {
      return;
    }
    isAsked.current = false;
    const timer = window.setTimeout(
      () => differing.current?.scrollIntoView({ block: 'nearest' }),
      GROWS
    );
    return () => window.clearTimeout(timer);
  }, [isDone]);
  if (!view?.on || !view.ranks.some(r => r.phase === 'paused')) {
    return null;
  }
  const compare = (label: string): JSX.Element => (
    <button
      type="button"
      className="jp-DtrainUi-link"
      onClick={() => {
        isAsked.current = true;
        void model.compareVariables().catch(onError);
      }}
    >
      {label}
    </button>
  );
  if (!found) {
    return <p>{compare(trans.__('Compare variables'))}</p>;
  }
  const { unseen, left } = found;
  const idle = view.ranks
    .filter(r => r.phase === 'idle' && !unseen.includes(r.rank))
    .map(r => r.rank);
  const lone = loneIn(found, view);
  if (lone !== null) {
    return (
      <p className="jp-DtrainUi-under" role="status">
        {unbroken(
          trans.__('There is nothing to compare: only rank %1 is paused.', lone)
        )}
      </p>
    );
  }
  return (
    <>
      {!left && (
        <OnlyOnSome only={found.only} ranks={view.ranks} trans={trans} />
      )}
      <p className="jp-DtrainUi-under" role="status">
        {differencesText(found, trans)}
      </p>
      {!left && <p>{compare(trans.__('Compare again'))}</p>}
      {!left && unseen.length > 0 && (
        <p className="jp-DtrainUi-under">
          {unbroken(
            trans._n(
              'Rank %2 was not looked at: it is not paused.',
              'Ranks %2 were not looked at: they are not paused.',
              unseen.length,
              formatRanks(unseen)
            )
          )}
        </p>
      )}
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
        <table ref={differing} aria-label={trans.__('Variables that differ')}>
          <tbody>
            {found.rows.map(row => (
              <tr key={row.expression} data-variable={row.expression}>
                <th scope="row">
                  <code>{row.expression}</code>
                </th>
                <td>
                  <Values {...props} row={row} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/** The only rank with variables, if all others run; null otherwise, and during a comparison. */
export function loneIn(
  { unseen, left, rows, same, alike, only }: IDifferences,
  { ranks }: Pick<DebugView, 'ranks'>
): number | null {
  const comparable = ranks.filter(
    r => r.phase !== 'gone' && !unseen.includes(r.rank)
  );
  const compared = rows.length + same + alike + only.length;
  return !left &&
    !compared &&
    comparable.length === 1 &&
    comparable[0].phase === 'paused'
    ? comparable[0].rank
    : null;
}

/** Number of variables that differ, and a summary of the others. */
export function differencesText(
  { rows, same, alike, unknown, beyond, left }: IDifferences,
  trans: TranslationBundle
): string {
  if (left) {
    return trans.__('Comparing variables…');
  }
  const parts = [
    trans._n('%1 variable differs', '%1 variables differ', rows.length),
    trans._n('%1 is the same', '%1 are the same', same),
    trans._n(
      '%1 is the same on the ranks that were looked at',
      '%1 are the same on the ranks that were looked at',
      alike
    ),
    trans._n('%1 was not compared', '%1 were not compared', unknown),
    trans._n('%1 more was not looked at', '%1 more were not looked at', beyond)
  ];
  const counts = [1, same, alike, unknown, beyond];
  const shownParts = parts.filter((_, i) => counts[i]);
  return trans.__('%1.', shownParts.join(', '));
}
