import { TranslationBundle } from '@jupyterlab/translation';
import React, { useEffect, useState } from 'react';

import { DebugView } from '../model/model';

interface IProps {
  view: DebugView;
  trans: TranslationBundle;
  /** Focus this rank. */
  look: (rank: number) => void;
}

/** The rank to focus, typed or chosen with the arrow keys. */
export function ByNumber({ view, trans, look }: IProps): JSX.Element {
  // null: show the focused rank; otherwise the text being typed
  const [typed, setTyped] = useState<string | null>(null);
  useEffect(() => setTyped(null), [view.focus]);
  const last = view.ranks.length - 1;
  const text = typed ?? (view.focus === null ? '' : String(view.focus));
  const exists = (rank: number): boolean =>
    Number.isInteger(rank) && rank >= 0 && rank <= last;
  const wanted = text.trim() === '' ? NaN : Number(text);
  const choose = (rank: number): void => {
    if (exists(rank)) {
      setTyped(rank === view.focus ? null : String(rank));
      look(rank);
    }
  };
  const step: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
  return (
    <form
      className="jp-DtrainDebug-number"
      onSubmit={event => {
        event.preventDefault();
        choose(wanted);
      }}
    >
      <label>
        {trans.__('Look at rank')}
        <input
          inputMode="numeric"
          placeholder={`0–${last}`}
          value={text}
          aria-invalid={text.trim() !== '' && !exists(wanted)}
          onChange={event => setTyped(event.target.value)}
          onKeyDown={event => {
            const by = step[event.key];
            if (by !== undefined) {
              event.preventDefault();
              choose(exists(wanted) ? wanted + by : by > 0 ? 0 : last);
            }
          }}
        />
      </label>
    </form>
  );
}
