import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatCount, formatRanks, formatShare } from '../../metrics/format';
import { placesOf, textOf } from '../folding/fold';
import { IBar, ILine, IPlace, parseBar, withoutBar } from '../lines/lines';
import { IAreaRow } from '../runs/cellOutput';
import { mergeBars } from './bars';
import { ILeftRows, shownOf } from './leftLines';
import { Text } from './text';
import { stylesBefore } from '../lines/ansi';

/** Labelled lines in one column. */
export function Lines(props: {
  lines: readonly ILine[];
  left: ILeftRows;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { lines, left, trans } = props;
  if (!lines.length && !left.gone && !left.atLeast) {
    return null;
  }
  const { first, last } = shownOf(lines, left);
  const here = lines.length - first.length - last.length;
  const more = left.gone + here;
  const most = left.atMost === undefined ? null : left.atMost + here;
  const text = leftText(more, !!left.atLeast, most, trans);
  return (
    <ul className="jp-DtrainOutput-lines">
      {first.map((line, i) => (
        <Line key={i} line={line} trans={trans} />
      ))}
      {text && (
        <li className="jp-DtrainOutput-left">
          <Label ranks={[]} />
          <span
            title={
              most === null
                ? undefined
                : trans.__('Equal lines of several ranks are shown as one.')
            }
          >
            {text} {!left.show && left.why}
            {left.show && (
              <button
                type="button"
                className="jp-DtrainUi-link"
                aria-label={trans.__('Show more of these lines')}
                onClick={left.show}
              >
                {trans.__('Show')}
              </button>
            )}
          </span>
        </li>
      )}
      {last.map((line, i) => (
        <Line key={`last ${i}`} line={line} trans={trans} />
      ))}
    </ul>
  );
}

/**
 * How many lines are not drawn; empty if all are.
 *
 * @param most - the most that there may be; null if that is unknown, or their number is known
 */
function leftText(
  more: number,
  atLeast: boolean,
  most: number | null,
  trans: TranslationBundle
): string {
  if (more <= 0) {
    return atLeast ? trans.__('More lines are not shown.') : '';
  }
  if (atLeast && most !== null) {
    const counts = [more, most].map(formatCount);
    return trans.__('%1 to %2 more lines.', ...counts);
  }
  return atLeast
    ? trans._n(
        'At least %2 more line.',
        'At least %2 more lines.',
        more,
        formatCount(more)
      )
    : trans._n('%2 more line.', '%2 more lines.', more, formatCount(more));
}

function AnyLine(props: {
  line: ILine;
  trans: TranslationBundle;
}): JSX.Element {
  const { line, trans } = props;
  const bar = parseBar(line.text);
  if (bar) {
    const text = textOf(line);
    const folded = parseBar(text);
    // a range in the per cent itself is not read again
    const shown = folded?.share === bar.share ? folded : bar;
    return (
      <li>
        <Label ranks={line.ranks} />
        <Progress bar={shown} ranks={line.ranks} text={text} />
      </li>
    );
  }
  return (
    <li data-error={line.error || undefined}>
      <Label ranks={line.ranks} />
      <span>
        <LineText line={line} trans={trans} />
      </span>
    </li>
  );
}

/** A line, rendered again only if its content has changed. */
const Line = React.memo(AnyLine, (before, now) => {
  const [a, b] = [before.line, now.line];
  return (
    a.text === b.text &&
    a.error === b.error &&
    a.ranks.join() === b.ranks.join() &&
    a.range?.low === b.range?.low &&
    a.range?.high === b.range?.high &&
    a.range?.inline === b.range?.inline &&
    a.range?.own?.inline === b.range?.own?.inline &&
    a.range?.also?.length === b.range?.also?.length
  );
});

/** A line, with the range of the number that differs between its ranks. */
export function LineText(props: {
  line: ILine;
  trans: TranslationBundle;
}): JSX.Element {
  const { text, range } = props.line;
  if (!range) {
    return <Text text={text} />;
  }
  const words = ({ low, high }: Pick<IPlace, 'low' | 'high'>): string =>
    props.trans.__('%1 to %2', low, high);
  const places = placesOf(range);
  return (
    <>
      <Text text={text.slice(0, places[0]?.start)} />
      {places.map(({ start, end, inline, ...ends }, i) => (
        <React.Fragment key={start}>
          <span
            className="jp-DtrainOutput-span"
            role="img"
            aria-label={inline.includes('…') ? words(ends) : inline}
            title={words(ends)}
          >
            <Text text={stylesBefore(text, start) + inline} />
          </span>
          <Text
            text={
              stylesBefore(text, end) + text.slice(end, places[i + 1]?.start)
            }
          />
        </React.Fragment>
      ))}
      {range.inline === null && (
        <span className="jp-DtrainOutput-range">{` (${words(range)})`}</span>
      )}
    </>
  );
}

/** The ranks of a row: beside its text, and not copied with it. */
export function Label(props: { ranks: readonly number[] }): JSX.Element {
  const { ranks } = props;
  return (
    <span
      className="jp-DtrainOutput-label"
      title={ranks.length > 3 ? formatRanks(ranks) : undefined}
    >
      {ranks.length > 0 && <span>{formatRanks(ranks)}</span>}
    </span>
  );
}

/** A progress bar, with all that tqdm writes beside it: remaining time, rate, and values such as the loss. */
function Progress(props: {
  bar: IBar;
  ranks: readonly number[];
  text: string;
}): JSX.Element {
  const { bar, ranks, text } = props;
  const name = `${formatRanks(ranks)} ${bar.label}`.trim();
  const far = [formatShare(bar.share), bar.count].filter(Boolean);
  return (
    <span className="jp-DtrainOutput-progress" title={text.trim()}>
      {bar.label && (
        <span className="jp-DtrainOutput-progressName">{bar.label}</span>
      )}
      <progress value={bar.share} max={1} aria-label={name} />
      <span className="jp-DtrainOutput-progressFar">{far.join(', ')}</span>
      {bar.rest && <span className="jp-DtrainOutput-range">{bar.rest}</span>}
    </span>
  );
}

/** Progress bars and other overwritten text. */
export function Area(props: {
  rows: readonly IAreaRow[];
  rank: number | null;
}): JSX.Element | null {
  const rows = mergeBars(
    props.rows
      .filter(row => props.rank === null || row.ranks.includes(props.rank))
      .flatMap(withoutBar)
  );
  return rows.length ? (
    <ul className="jp-DtrainOutput-lines">
      {rows.map((row, i) => {
        const bar = parseBar(row.text);
        return (
          <li key={i}>
            <Label ranks={row.ranks} />
            {bar ? (
              <Progress bar={bar} ranks={row.ranks} text={row.text} />
            ) : (
              <span>
                <Text text={row.text} />
              </span>
            )}
          </li>
        );
      })}
    </ul>
  ) : null;
}
