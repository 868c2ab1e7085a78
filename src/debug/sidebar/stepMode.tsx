import { TranslationBundle } from '@jupyterlab/translation';
import React, { useId, useLayoutEffect, useRef, useState } from 'react';

import { parseRanks, rankSet } from '../../metrics/rankSets';
import { DebugView } from '../model/model';
import { whyFocusStays, whyNoStep } from '../model/whyNoStep';

/** The ranks that a step moves. */
export function StepMode(props: {
  view: DebugView;
  trans: TranslationBundle;
  send: (command: string, args: Record<string, unknown>) => void;
}): JSX.Element {
  const { view, trans, send } = props;
  const [text, setText] = useState(rankSet(view.chosen));
  // who has just chosen "Some…" has not had the time to write
  const [begins, setBegins] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  // arrow keys choose each mode that they pass: the focus leaves them only for who has pointed
  const points = useRef(false);
  useLayoutEffect(() => {
    if (begins && view.mode === 'some') {
      field.current?.focus();
    }
  }, [begins, view.mode]);
  const modes: { mode: DebugView['mode']; label: string }[] = [
    { mode: 'all', label: trans.__('All ranks') },
    {
      mode: 'this',
      label:
        view.focus === null
          ? trans.__('This rank')
          : trans.__('Rank %1', view.focus)
    },
    { mode: 'some', label: trans.__('Some…') }
  ];
  // an empty field means no rank here, not all
  const chosen = (written: string): number[] =>
    written.trim() ? (parseRanks(written, view.ranks.length) ?? []) : [];
  const told = view.mode === 'some' && !(begins && !text);
  let wrong = '';
  if (view.mode === 'this') {
    wrong = whyFocusStays(view, trans);
  } else if (told) {
    wrong = whyNoStep(view, text, chosen(text), trans);
  }
  const id = useId();
  return (
    <div className="jp-DtrainDebug-mode">
      <span aria-hidden>{trans.__('Step')}</span>
      <span
        className="jp-DtrainDebug-segments"
        role="radiogroup"
        aria-label={trans.__('Step')}
        onPointerDown={() => {
          points.current = true;
        }}
        onKeyDown={() => {
          points.current = false;
        }}
      >
        {modes.map(({ mode, label }) => (
          <label key={mode}>
            <input
              type="radio"
              name={`${id} mode`}
              checked={view.mode === mode}
              onChange={() => {
                setBegins(mode === 'some' && points.current);
                send('dtrain/mode', { mode });
              }}
            />
            <span>{label}</span>
          </label>
        ))}
      </span>
      {view.mode === 'some' && (
        <input
          ref={field}
          aria-label={trans.__('Ranks that a step moves')}
          placeholder={rankSet(view.ranks.map(r => r.rank))}
          value={text}
          onChange={event => {
            setBegins(false);
            setText(event.target.value);
            send('dtrain/mode', { ranks: chosen(event.target.value) });
          }}
          onBlur={() => setBegins(false)}
          aria-invalid={told && chosen(text).length === 0}
          aria-describedby={wrong ? id : undefined}
        />
      )}
      {wrong && (
        <p id={id} role="status" className="jp-DtrainDebug-error">
          {wrong}
        </p>
      )}
    </div>
  );
}
