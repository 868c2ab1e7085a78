import { TranslationBundle } from '@jupyterlab/translation';
import React, { startTransition, useEffect, useState } from 'react';

import { useViewState } from '../viewState';

/** Rows of a long table drawn initially; the rest on request. */
const ROWS = 100;
/** As many of them are drawn at once as are in view; the others as soon as these are seen. */
const IN_VIEW = 30;

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
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const next = requestAnimationFrame(() =>
      startTransition(() => setSeen(true))
    );
    return () => cancelAnimationFrame(next);
  }, []);
  const more = seen && rows.length > most && (
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
  return [rows.slice(0, seen ? most : IN_VIEW), more || null];
}
