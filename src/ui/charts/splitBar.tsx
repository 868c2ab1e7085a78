import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { errorOfPart } from '../../metrics/share';
import { ISplit, namedParts, PARTS, partTitle } from '../../metrics/split';

/** A step as a bar of its parts. */
export function SplitBar(props: {
  split: ISplit;
  trans: TranslationBundle;
}): JSX.Element {
  const { split, trans } = props;
  return (
    <span
      className="jp-DtrainUi-split"
      role="img"
      aria-label={namedParts(split, trans)
        .map(({ text }) => text)
        .join(', ')}
    >
      {PARTS.map(part => (
        <span
          key={part}
          data-part={part}
          style={{ width: `${split[part] * 100}%` }}
        />
      ))}
    </span>
  );
}

/**
 * Legend of a bar, with the shares of its parts, the error of data where that was measured, and the error of each where
 * it is not said elsewhere.
 */
export function SplitLegend(props: {
  split: ISplit;
  dataError?: number | null;
  error?: string;
  trans: TranslationBundle;
}): JSX.Element {
  const { split, error, trans } = props;
  const dataError = errorOfPart(props.dataError ?? null);
  return (
    <span className="jp-DtrainUi-legend">
      {namedParts(split, trans).map(({ part, text }) => (
        <span
          key={part}
          data-part={part}
          title={partTitle(part, split.asleep > 0, trans)}
        >
          {text}
          {part === 'data' && dataError && ` ${dataError}`}
        </span>
      ))}
      {error && <small>{error}</small>}
    </span>
  );
}
