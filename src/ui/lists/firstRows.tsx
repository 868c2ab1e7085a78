import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { useViewState } from '../viewState';

/** Rows of a long table drawn initially; the rest on request. */
const ROWS = 100;

/**
 * The first rows of a long table.
 *
 * @param rows - all of them.
 * @returns those to draw, and the button below them that draws more; null if there are no more.
 */
export function useFirstRows<T>(
  rows: readonly T[],
  trans: TranslationBundle
): [readonly T[], JSX.Element | null] {
  const [most, setMost] = useViewState('most', ROWS);
  const more = rows.length > most && (
    <p className="jp-DtrainUi-open">
      <button
        type="button"
        className="jp-DtrainUi-button"
        onClick={() => setMost(most + 10 * ROWS)}
      >
        {trans.__('Show more of %1', rows.length)}
      </button>
    </p>
  );
  return [rows.slice(0, most), more || null];
}
