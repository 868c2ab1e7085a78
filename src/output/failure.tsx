import { Clipboard } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { Action } from '../ui/actionButton';
import { Glyph } from '../ui/icons/glyph';
import { Filled } from '../ui/text/filled';
import { Text } from './text/text';
import { IFrameText, ITraceback, placeIn } from './lines/traceback';
import { failedText, foldedText, tracebackText } from './text/tracebackText';
import { tellBriefly } from '../ui/text/toast';

/** Actions for a failure. */
export interface IFailureActions {
  /** Show a line of a cell. */
  place: (cell: string, line: number) => void;
  /** The name of a file, and a function to open it; null if it can't be opened. */
  file: (path: string) => {
    name: string;
    open: ((line: number) => void) | null;
  };
  /** Show a rank in the debugger; or why that is impossible. */
  debug: (rank: number) => { act: (() => void) | null; why: string };
  compare: (rank: number) => { act: (() => void) | null; why: string };
}

/** Errors of ranks: the chosen rank's traceback, or the first; and one line for each other traceback. */
export function Failure(props: {
  tracebacks: readonly ITraceback[];
  /** The rank whose output is displayed; null for all. */
  chosen: number | null;
  /** The kernel's text, displayed if no traceback could be parsed from it. */
  rows: readonly string[];
  /** The kernel's hint; null if there is none. Commands are in backquotes. */
  hint: string | null;
  actions: IFailureActions;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { tracebacks, chosen } = props;
  const first =
    tracebacks.find(t => chosen !== null && t.ranks.includes(chosen)) ??
    tracebacks[0];
  const others = tracebacks.filter(t => t !== first);
  const all = props.rows.flatMap(row => row.split('\n'));
  const rows = all.slice(all.findIndex(row => row.trim()));
  if (!first) {
    return rows.some(row => row.trim()) ? (
      <div
        className="jp-DtrainOutput-failure"
        role="group"
        aria-label={props.trans.__('Failure')}
      >
        <div className="jp-DtrainOutput-frames">
          {rows.map((row, i) => (
            <div
              key={i}
              data-here={(i > 0 && !!placeIn(rows[i - 1])) || undefined}
            >
              <Row row={row} {...props} />
            </div>
          ))}
        </div>
      </div>
    ) : null;
  }
  return (
    <div
      className="jp-DtrainOutput-failure"
      role="group"
      aria-label={props.trans.__('Failure')}
    >
      <Headline traceback={first} {...props} />
      {props.hint && (
        <p className="jp-DtrainOutput-hint">
          {props.hint
            .split('`')
            .map((text, i) => (i % 2 ? <code key={i}>{text}</code> : text))}
        </p>
      )}
      <Traceback key={first.ranks[0]} traceback={first} {...props} />
      {others.map(traceback => (
        <details key={traceback.ranks[0]}>
          <summary>
            <Headline traceback={traceback} {...props} />
          </summary>
          <Traceback traceback={traceback} {...props} />
        </details>
      ))}
    </div>
  );
}

/** A row as it is; if it is only a place, it is a link. */
function Row(props: {
  row: string;
  actions: IFailureActions;
  trans: TranslationBundle;
}): JSX.Element {
  const { row, actions, trans } = props;
  const place = placeIn(row);
  return place ? (
    <button
      type="button"
      className="jp-DtrainUi-link"
      onClick={() => actions.place(place.cell, place.line)}
    >
      {trans.__('cell %1, line %2', place.cell, place.line)}
    </button>
  ) : (
    <Text text={row} />
  );
}

function Headline(props: {
  traceback: ITraceback;
  trans: TranslationBundle;
}): JSX.Element {
  const { traceback, trans } = props;
  return (
    <span className="jp-DtrainOutput-headline">
      <Glyph kind="failed" label={trans.__('failed')} />
      <b>
        <Filled
          text={failedText(traceback.ranks, '%1', trans)}
          parts={[<Text key="what" text={traceback.what} />]}
        />
      </b>
    </span>
  );
}

function Traceback(props: {
  traceback: ITraceback;
  chosen: number | null;
  actions: IFailureActions;
  trans: TranslationBundle;
}): JSX.Element {
  const { traceback, chosen, actions, trans } = props;
  const [unfolded, setUnfolded] = useState(false);
  const { ranks } = traceback;
  const rank =
    chosen !== null && ranks.includes(chosen) ? chosen : (ranks[0] ?? 0);
  const library = traceback.all;
  const folded = traceback.frames.reduce(
    (n, frame) => n + ('folded' in frame && !frame.why ? frame.folded : 0),
    0
  );
  const debug = actions.debug(rank);
  const compare = actions.compare(rank);
  const frames = unfolded && library ? library : traceback.frames;
  return (
    <>
      <div className="jp-DtrainOutput-frames">
        {traceback.more.map((row, i) => (
          <div key={`more ${i}`}>
            <Text text={row} />
          </div>
        ))}
        {frames.map((frame, i) =>
          'folded' in frame ? (
            library && !frame.why ? null : (
              <div key={i} className="jp-DtrainOutput-range">
                {foldedText(frame, trans)}
              </div>
            )
          ) : (
            <Frame key={i} frame={frame} actions={actions} trans={trans} />
          )
        )}
        {traceback.detail.map((row, i, all) => (
          <div
            key={`detail ${i}`}
            data-here={(i > 0 && !!placeIn(all[i - 1])) || undefined}
          >
            <Row row={row} {...props} />
          </div>
        ))}
      </div>
      <div className="jp-DtrainOutput-actions">
        <Action
          label={trans.__('Debug rank %1 here', rank)}
          className="jp-DtrainOutput-button"
          why={debug.act ? null : debug.why}
          onClick={() => debug.act?.()}
        />
        <Action
          label={trans.__('Compare variables')}
          className="jp-DtrainOutput-button"
          why={compare.act ? null : compare.why}
          onClick={() => compare.act?.()}
        />
        <Action
          label={trans.__('Copy')}
          className="jp-DtrainOutput-button"
          title={trans.__('Copy the error and its frames as text')}
          onClick={() => {
            Clipboard.copyToSystem(tracebackText(traceback, trans));
            tellBriefly(trans.__('The error is on the clipboard.'));
          }}
        />
        {folded > 0 && library && (
          <button
            type="button"
            className="jp-DtrainUi-link"
            aria-expanded={unfolded}
            onClick={() => setUnfolded(!unfolded)}
          >
            {trans._n('%1 library frame', '%1 library frames', folded)}
          </button>
        )}
      </div>
    </>
  );
}

function Frame(props: {
  frame: IFrameText;
  actions: IFailureActions;
  trans: TranslationBundle;
}): JSX.Element {
  const { frame, actions, trans } = props;
  const { cell, file, line, inside, lines } = frame;
  const opened = file === null ? null : actions.file(file);
  const name =
    cell !== null
      ? trans.__('cell %1, line %2', cell, line)
      : `${opened?.name}:${line}`;
  const open =
    cell !== null
      ? () => actions.place(cell, line)
      : opened?.open && (() => opened.open?.(line));
  return (
    <>
      <div title={file ?? undefined}>
        {open ? (
          <button type="button" className="jp-DtrainUi-link" onClick={open}>
            {name}
          </button>
        ) : (
          name
        )}
        {inside}
      </div>
      {lines.map(({ text, here }, i) => (
        <div key={i} data-here={here || undefined}>
          {text}
        </div>
      ))}
    </>
  );
}
