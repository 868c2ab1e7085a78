import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatCount, formatRanks, formatShare } from '../../metrics/format';
import { IBar, ILine, parseBar } from '../lines/lines';
import { IAreaRow } from '../runs/cellOutput';
import { Text } from './text';
import { lastRows } from '../lines/trim';
import { stylesBefore } from '../lines/ansi';

/** Maximum number of lines drawn initially; the middle is omitted, and added in steps of this size. */
export const MOST_LINES = 2000;

/** Omitted lines in the middle, and how to show them. */
export interface ILeft {
  /** Approximate number of rows that only the journal has. */
  gone: number;
  /** Number of lines drawn at the beginning. */
  first: number;
  /** Whether the number of omitted rows of this list is unknown. */
  uncounted?: boolean;
  /** Show more of them; null if they are no longer available. */
  show: (() => void) | null;
}

/** Labelled lines in one column. */
export function Lines(props: {
  lines: readonly ILine[];
  left: ILeft;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { lines, left, trans } = props;
  if (!lines.length && !left.gone) {
    return null;
  }
  const half = MOST_LINES / 2;
  const fits = !left.gone && lines.length <= left.first + half;
  const first = fits
    ? lines
    : lines.slice(0, Math.min(left.first, lines.length - half));
  const last = fits ? [] : endOf(lines, first.length, half);
  const more = left.gone + lines.length - first.length - last.length;
  let text = trans._n(
    '%2 more line.',
    '%2 more lines.',
    more,
    formatCount(more)
  );
  if (left.uncounted) {
    text = trans.__('More lines are not shown.');
  } else if (left.gone) {
    text = trans._n(
      'About %2 more line.',
      'About %2 more lines.',
      more,
      formatCount(roundly(more))
    );
  }
  return (
    <ul className="jp-DtrainOutput-lines">
      {first.map((line, i) => (
        <Line key={i} line={line} trans={trans} />
      ))}
      {more > 0 && (
        <li className="jp-DtrainOutput-left">
          <Label ranks={[]} />
          <span>
            {text}{' '}
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
 * Number of omitted lines that will be rows of the list of all ranks.
 *
 * They are counted as ranks printed them; as rows they are folded, like those that the page has.
 */
export function rowsOf(
  left: ILeft,
  rows: readonly ILine[],
  lines: readonly ILine[]
): ILeft {
  const share = rows.length ? rows.length / lines.length : 1;
  return { ...left, gone: Math.ceil(left.gone * share) };
}

/** A number rounded to its accuracy. */
function roundly(count: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1);
  return Math.round(count / unit) * unit;
}

/** The last lines, preceded by the last lines of other ranks. */
function endOf(
  lines: readonly ILine[],
  from: number,
  most: number
): readonly ILine[] {
  const to = Math.max(from, lines.length - most);
  const end = lines.slice(to);
  const middle = lines.slice(from, to);
  const kept = lastRows(
    middle.map(line => line.ranks),
    new Set(end.flatMap(line => line.ranks))
  );
  return [...kept.map(i => middle[i]), ...end];
}

function AnyLine(props: {
  line: ILine;
  trans: TranslationBundle;
}): JSX.Element {
  const { line, trans } = props;
  const bar = parseBar(line.text);
  if (bar) {
    return (
      <li>
        <Label ranks={line.ranks} />
        <Progress
          bar={bar}
          ranks={line.ranks}
          text={line.text}
          time={!line.range}
        />
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
    a.range?.also?.length === b.range?.also?.length
  );
});

function LineText(props: {
  line: ILine;
  trans: TranslationBundle;
}): JSX.Element {
  const { text, range } = props.line;
  if (!range) {
    return <Text text={text} />;
  }
  const { low, high, inline } = range;
  const words = props.trans.__('%1 to %2', low, high);
  const places = [range, ...(range.also ?? [])];
  return inline !== null ? (
    <>
      <Text text={text.slice(0, range.start)} />
      {places.map(({ start, end }, i) => (
        <React.Fragment key={start}>
          <span
            className="jp-DtrainOutput-span"
            role="img"
            aria-label={inline.includes('…') ? words : inline}
            title={words}
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
    </>
  ) : (
    <>
      <Text text={text} />
      <span className="jp-DtrainOutput-range">{` (${words})`}</span>
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

function Progress(props: {
  bar: IBar;
  ranks: readonly number[];
  text: string;
  /** Also show its times. */
  time?: boolean;
}): JSX.Element {
  const { bar, ranks, text, time } = props;
  const name = `${formatRanks(ranks)} ${bar.label}`.trim();
  const far = [formatShare(bar.share), bar.count || (time ? '' : bar.rest)];
  return (
    <span className="jp-DtrainOutput-progress" title={text.trim()}>
      {bar.label && (
        <span className="jp-DtrainOutput-progressName">{bar.label}</span>
      )}
      <progress value={bar.share} max={1} aria-label={name} />
      <span>{far.filter(Boolean).join(', ')}</span>
      {time && bar.rest && (
        <span className="jp-DtrainOutput-range">{bar.rest}</span>
      )}
    </span>
  );
}

/** Progress bars and other overwritten text. */
export function Area(props: {
  rows: readonly IAreaRow[];
  rank: number | null;
}): JSX.Element | null {
  const rows = mergeBars(
    props.rows.filter(
      row => props.rank === null || row.ranks.includes(props.rank)
    )
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

/** Merge bars with the same name and count. */
function mergeBars(rows: readonly IAreaRow[]): IAreaRow[] {
  const merged = new Map<string, IAreaRow>();
  rows.forEach((row, i) => {
    const bar = parseBar(row.text);
    const key = bar
      ? `${bar.label} ${formatShare(bar.share)} ${bar.count || bar.rest}`
      : `row ${i}`;
    const known = merged.get(key);
    const ranks = [...(known?.ranks ?? []), ...row.ranks].sort((a, b) => a - b);
    merged.set(key, { ...(known ?? row), ranks });
  });
  return [...merged.values()];
}
