import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { plain } from '../../output/lines/ansi';
import { LineText } from '../../output/text/rows';
import { Text } from '../../output/text/text';
import { formatClock } from '../../metrics/format';
import { inAnyCase } from './find';
import { followsFrom, ICause, shortError } from './causedErrors';
import { ILogRow } from './lines';
import { placeOf } from './tracebacks';

/** Maximum length of a list of ranks; a longer one is replaced by their number. */
const NAMED = 8;

/** Time, ranks and text of a row of the log. */
export function LogRow(props: {
  row: ILogRow;
  /** The searched text; empty for none. */
  found: string;
  /** The error that failed the job; null if unknown. */
  cause: ICause | null;
  trans: TranslationBundle;
  /** Unfold it. */
  unfold: () => void;
  openCell: (cell: string, line: number) => void;
}): JSX.Element {
  const { row, cause, trans, unfold } = props;
  const place = placeOf(row.text);
  const shown = row.folded > 0 ? shortError(row.text) : row.text;
  const bare = plain(shown);
  const wanted = props.found ? inAnyCase(props.found) : null;
  // "rank 0…1" stands for lines of which one may have the text
  const isWithin =
    !!wanted &&
    !wanted.test(plain(row.text)) &&
    row.written.some(written => wanted.test(plain(written)));
  const text = wanted?.test(bare) ? (
    <Marked text={bare} found={props.found} />
  ) : row.differing ? (
    <LineText line={row.differing} trans={trans} />
  ) : (
    <Text text={shown} />
  );
  const more = (text: string): JSX.Element => (
    <button
      type="button"
      className="jp-DtrainUi-link jp-DtrainJob-more"
      onClick={unfold}
    >
      {text}
    </button>
  );
  return (
    <>
      <time>{formatClock(row.time * 1000, true)}</time>
      <span className="jp-DtrainJob-logRanks" title={row.ranks}>
        {row.ranks.length > NAMED
          ? trans._n('%1 rank', '%1 ranks', row.count)
          : row.ranks}
      </span>
      <span className="jp-DtrainJob-logText">
        {row.frames > 0 ? (
          more(
            trans._n(
              '▸ %1 library frame. Show',
              '▸ %1 library frames. Show',
              row.frames
            )
          )
        ) : isWithin ? (
          <mark
            title={trans.__(
              'A line that is folded into this one contains the text.'
            )}
          >
            {text}
          </mark>
        ) : place ? (
          <>
            {place.before}
            <button
              type="button"
              className="jp-DtrainUi-link"
              title={place.notebook}
              onClick={() => props.openCell(place.cell, place.line)}
            >
              <Marked
                text={trans.__('cell %1, line %2', place.cell, place.line)}
                found={props.found}
              />
            </button>
            <Marked text={place.after} found={props.found} />
          </>
        ) : (
          text
        )}
        {row.error && followsFrom(row.text) && (
          <span className="jp-DtrainUi-under">
            {' '}
            {!row.follows || !cause
              ? trans.__("(follows from another rank's end)")
              : cause.killed
                ? trans.__('(follows from the end of rank %1)', cause.rank)
                : trans.__("(follows from rank %1's error)", cause.rank)}
          </span>
        )}
        {row.folded > 0 && (
          <>
            {' '}
            {more(
              trans._n(
                '▸ %1 more line. Show',
                '▸ %1 more lines. Show',
                row.folded
              )
            )}
          </>
        )}
        {row.like > 0 && (
          <>
            {' '}
            {more(
              trans._n(
                '▸ the same line once more. Show',
                '▸ the same line %1 times more. Show',
                row.like
              )
            )}
          </>
        )}
      </span>
    </>
  );
}

/** A text, with matches highlighted. */
function Marked(props: { text: string; found: string }): JSX.Element {
  const { text, found } = props;
  if (!found) {
    return <>{text}</>;
  }
  return (
    <>
      {text
        .split(inAnyCase(found))
        .map((part, index) =>
          index % 2 ? <mark key={index}>{part}</mark> : part
        )}
    </>
  );
}
