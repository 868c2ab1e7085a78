import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Cluster } from '../tokens';
import { formatRanks, formatRate, formatShare, formatTime } from '../ui/format';
import { Glyph, GlyphKind } from '../ui/glyph';
import { sentence } from '../ui/sentence';
import { foldLines, ILine, linesOf, parseBar } from './lines';
import { IAreaRow, ICellOutput } from './read';

/** Which output is shown: of all ranks together, by rank, or of one. */
export type Choice = 'together' | 'by rank' | number;

/** Rank chips up to here. */
const MOST_CHIPS = 16;
/** Lines that are drawn; the middle of more is left out. */
const MOST_LINES = 2000;

/** How a cell of ranks stands. */
export interface ICellState {
  output: ICellOutput;
  ranks: readonly number[];
  running: boolean;
  /** Since it began, or how long it took; null where this page was not there. */
  seconds: number | null;
  choice: Choice;
  /** The cluster that runs it, where that is known. */
  cluster: Cluster | null;
}

/** The bar of a cell, and its lines. */
export function CellView(props: {
  state: ICellState;
  trans: TranslationBundle;
  onChoose: (choice: Choice) => void;
  onPlace: (cell: string, line: number) => void;
}): JSX.Element {
  const { state, trans } = props;
  const { output, choice } = state;
  const shown =
    typeof choice === 'number' ? linesOf(output.lines, choice) : output.lines;
  return (
    <>
      <Bar {...props} />
      {choice === 'by rank' ? (
        state.ranks.map(rank => (
          <section
            key={rank}
            aria-label={trans.__('Rank %1', rank)}
            className="jp-Dtrain-block"
          >
            <Lines lines={linesOf(output.lines, rank)} {...props} />
          </section>
        ))
      ) : (
        <Lines
          lines={choice === 'together' ? foldLines(shown) : shown}
          {...props}
        />
      )}
      <Area rows={output.area} choice={choice} />
      {output.failure && <Failure {...props} failure={output.failure} />}
    </>
  );
}

function Bar(props: {
  state: ICellState;
  trans: TranslationBundle;
  onChoose: (choice: Choice) => void;
}): JSX.Element {
  const { state, trans, onChoose } = props;
  const { failure } = state.output;
  const paused = state.running && state.cluster?.state === 'paused';
  const kind: GlyphKind = paused
    ? 'paused'
    : state.running
      ? 'busy'
      : failure
        ? 'failed'
        : 'good';
  const word = state.running
    ? paused
      ? trans.__('paused')
      : trans.__('running')
    : failure
      ? trans.__('failed')
      : trans.__('done');
  const chips: Choice[] = ['together', 'by rank'];
  if (state.ranks.length <= MOST_CHIPS) {
    chips.push(...state.ranks);
  }
  return (
    <div
      className="jp-Dtrain-cellBar"
      data-paused={paused || undefined}
      data-failed={failure ? true : undefined}
      role="group"
      aria-label={trans.__('Output of ranks')}
    >
      <Glyph kind={kind} label={word} />
      <span className="jp-Dtrain-cellState">
        {failure && !state.running ? (
          failure.sentence
        ) : paused && state.cluster ? (
          <b>{sentence(state.cluster, trans)}</b>
        ) : (
          <b>{trans._n('%1 rank', '%1 ranks', state.ranks.length)}</b>
        )}{' '}
        {time(state, trans)} {state.running && figures(state, trans)}
      </span>
      {state.ranks.length > 1 && (
        <span className="jp-Dtrain-chips">
          {chips.map(chip => (
            <button
              key={chip}
              type="button"
              aria-pressed={state.choice === chip}
              aria-label={
                typeof chip === 'number' ? trans.__('Rank %1', chip) : undefined
              }
              onClick={() => onChoose(chip)}
            >
              {chip === 'together'
                ? trans.__('Together')
                : chip === 'by rank'
                  ? trans.__('By rank')
                  : chip}
            </button>
          ))}
        </span>
      )}
    </div>
  );
}

function time(state: ICellState, trans: TranslationBundle): string {
  if (state.seconds === null) {
    return '';
  }
  const text = formatTime(state.seconds);
  return state.running ? trans.__('running for %1', text) : text;
}

function figures(state: ICellState, trans: TranslationBundle): string {
  const metrics = state.cluster?.metrics;
  if (!metrics || metrics.samples_per_s === null) {
    return '';
  }
  return trans.__(
    '%1 samples/s · communication %2',
    formatRate(metrics.samples_per_s),
    formatShare(metrics.comm_overhead)
  );
}

function Lines(props: {
  lines: readonly ILine[];
  state: ICellState;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { lines, state, trans } = props;
  const extra = Math.max(0, lines.length - MOST_LINES);
  const left = state.output.left + extra;
  const half = MOST_LINES / 2;
  const first = left ? lines.slice(0, half) : lines;
  const last = left ? lines.slice(-half) : [];
  return lines.length ? (
    <ul className="jp-Dtrain-lines">
      {first.map((line, i) => (
        <Line key={i} line={line} />
      ))}
      {left > 0 && (
        <li className="jp-Dtrain-left">
          {trans.__(
            '… %1 more lines: dtrain-lab keeps them in the journal',
            left
          )}
        </li>
      )}
      {last.map((line, i) => (
        <Line key={lines.length + i} line={line} />
      ))}
    </ul>
  ) : null;
}

function Line(props: { line: ILine }): JSX.Element {
  const { line } = props;
  return (
    <li data-error={line.error || undefined}>
      <Label ranks={line.ranks} />
      <span>
        {line.text}
        {line.range && <span className="jp-Dtrain-range"> ({line.range})</span>}
      </span>
    </li>
  );
}

function Label(props: { ranks: readonly number[] }): JSX.Element {
  return (
    <span className="jp-Dtrain-label">
      {props.ranks.length > 0 && formatRanks(props.ranks)}
    </span>
  );
}

function Area(props: {
  rows: readonly IAreaRow[];
  choice: Choice;
}): JSX.Element | null {
  const { choice } = props;
  const rows = mergeBars(
    props.rows.filter(
      row => typeof choice !== 'number' || row.ranks.includes(choice)
    )
  );
  return rows.length ? (
    <ul className="jp-Dtrain-lines">
      {rows.map((row, i) => {
        const bar = parseBar(row.text);
        return (
          <li key={i}>
            <Label ranks={row.ranks} />
            {bar ? (
              <span className="jp-Dtrain-bar">
                <progress
                  value={bar.share}
                  max={1}
                  aria-label={formatRanks(row.ranks)}
                />
                <span>
                  {formatShare(bar.share)}, {bar.rest}
                </span>
              </span>
            ) : (
              <span>{row.text}</span>
            )}
          </li>
        );
      })}
    </ul>
  ) : null;
}

/** Bars that stand at the same percentage are one. */
function mergeBars(rows: readonly IAreaRow[]): IAreaRow[] {
  const merged = new Map<string, IAreaRow>();
  rows.forEach((row, i) => {
    const bar = parseBar(row.text);
    const key = bar ? formatShare(bar.share) : `row ${i}`;
    const known = merged.get(key);
    const ranks = [...(known?.ranks ?? []), ...row.ranks];
    merged.set(key, { ...(known ?? row), ranks });
  });
  return [...merged.values()];
}

function Failure(props: {
  failure: NonNullable<ICellOutput['failure']>;
  trans: TranslationBundle;
  onPlace: (cell: string, line: number) => void;
}): JSX.Element | null {
  const rows = props.failure.rows.filter((row, i) => row || i > 0);
  return rows.length ? (
    <pre className="jp-Dtrain-failure">
      {rows.map((row, i) => {
        const place = /^ *cell (\[\d+\]), line (\d+)/.exec(row);
        return (
          <span key={i} data-here={row.startsWith('---->') || undefined}>
            {place ? (
              <button
                type="button"
                className="jp-Dtrain-link"
                onClick={() => props.onPlace(place[1], Number(place[2]))}
              >
                {row.trim()}
              </button>
            ) : (
              row || '\u00a0'
            )}
          </span>
        );
      })}
    </pre>
  ) : null;
}
