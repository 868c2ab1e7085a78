import { TranslationBundle } from '@jupyterlab/translation';
import React, { useRef, useState } from 'react';

import { formatRanks, unbroken } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { ByNumber } from './rankByNumber';
import { StepMode } from './stepMode';
import { TakeOver } from './takeOver';
import { DebugModel, MANY, RankView } from '../model/model';
import {
  byPlace,
  doneIn,
  glyphOf,
  hasEnded,
  ICellLookup,
  placeOf,
  rankLineOf,
  sentence
} from '../model/texts';
import { IShownView, ITakeOver } from '../model/world';

interface IProps {
  model: DebugModel;
  view: IShownView;
  /** Name of the job that is or was debugged; null for a cluster. */
  job: string | null;
  cells: ICellLookup;
  /** The way to ranks that another notebook debugs. */
  takeOver: ITakeOver;
  trans: TranslationBundle;
  /** Called with an error. */
  onError: (error: unknown) => void;
}

/** All ranks under the debugger: the focused one, and those that a step moves. */
export function Ranks(props: IProps): JSX.Element {
  const { model, view, job, trans, onError } = props;
  const send = (command: string, args: Record<string, unknown>): void =>
    void model.send(command, args).catch(onError);
  // when it is off, positions of ranks are unknown, and they can't be moved
  const ranks = view.on ? view.ranks : [];
  const running = ranks.some(r => r.phase === 'running');
  const paused = ranks.filter(r => r.phase === 'paused').length;
  const ended = hasEnded(view);
  return (
    <div className="jp-DtrainDebug-ranks">
      {view.on && job !== null && (
        // the toolbar and the status bar name the notebook's cluster meanwhile
        <p className="jp-DtrainUi-under">{trans.__('Job %1', job)}</p>
      )}
      <div className="jp-DtrainDebug-head">
        <p className="jp-DtrainUi-sentence" role="status">
          {unbroken(sentence(view, model.isStarted, trans, job))}
        </p>
        {running && (
          <button
            type="button"
            className="jp-DtrainUi-button"
            onClick={() => send('pause', { threadId: 1 })}
          >
            {trans.__('Pause')}
          </button>
        )}
        {view.failed && view.on && !running && !paused && !ended && (
          <button
            type="button"
            className="jp-DtrainUi-button"
            onClick={() => send('dtrain/postmortem', {})}
          >
            {view.only_interrupted
              ? trans.__('Look where it was interrupted')
              : trans.__('Look where it failed')}
          </button>
        )}
      </div>
      {ranks.length > 0 && (
        <>
          {!ended && <StepMode view={view} trans={trans} send={send} />}
          {view.ranks.length > MANY ? (
            <Places {...props} send={send} />
          ) : (
            <Grid {...props} send={send} />
          )}
        </>
      )}
      {view.waits.map(wait => (
        <p key={wait.text} className="jp-DtrainDebug-wait">
          {unbroken(wait.text)}
          {wait.reachable && (
            <>
              {' '}
              <button
                type="button"
                className="jp-DtrainUi-link"
                onClick={() => send('dtrain/gather', { rank: wait.ranks[0] })}
              >
                {trans._n(
                  'Step the other rank to it',
                  'Step the others to it',
                  paused
                )}
              </button>
            </>
          )}
        </p>
      ))}
      {(view.on || model.isStarted) &&
        view.notes.map(note => (
          <p key={note} className="jp-DtrainDebug-wait">
            {note}
            {!view.on && view.held_elsewhere && (
              <>
                {' '}
                <TakeOver {...props} notes={view.notes} />
              </>
            )}
          </p>
        ))}
      {ranks.length > 0 && !ended && (
        <p
          className="jp-DtrainUi-under"
          title={trans.__(
            "Collectives that begin while the debugger is on don't time out."
          )}
        >
          {trans.__("New collectives don't time out.")}
        </p>
      )}
      {!view.on && !model.isStarted && (
        <p className="jp-DtrainUi-under">
          {trans.__("Turn it on with the bug in the notebook's toolbar.")}
        </p>
      )}
    </div>
  );
}

interface ISending extends IProps {
  send: (command: string, args: Record<string, unknown>) => void;
}

/** A square per rank; one tab stop, arrow keys move. */
function Grid(props: ISending): JSX.Element {
  const { model, view, cells: known, trans, onError } = props;
  const done = doneIn(view, known);
  const place = (rank: IShownView['ranks'][number]): string =>
    placeOf(rank, hasEnded(view), known, done, trans);
  const grid = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<number | null>(null);
  const tab = active ?? view.focus ?? 0;
  const move = (event: React.KeyboardEvent): void => {
    const cells = [
      ...(grid.current?.querySelectorAll<HTMLElement>('button') ?? [])
    ];
    const from = cells.indexOf(document.activeElement as HTMLElement);
    const columns =
      cells.filter(c => c.offsetTop === cells[0]?.offsetTop).length || 1;
    const by: Record<string, number> = {
      ArrowRight: from + 1,
      ArrowLeft: from - 1,
      ArrowDown: from + columns,
      ArrowUp: from - columns,
      Home: 0,
      End: cells.length - 1
    };
    const to = by[event.key];
    if (to !== undefined) {
      event.preventDefault();
      cells[Math.max(0, Math.min(cells.length - 1, to))]?.focus();
    }
  };
  return (
    <div
      ref={grid}
      className="jp-DtrainDebug-grid"
      role="listbox"
      aria-label={trans.__('Ranks: choose the one to look at')}
      onKeyDown={move}
    >
      {view.ranks.map(rank => (
        <button
          key={rank.rank}
          type="button"
          role="option"
          aria-selected={view.focus === rank.rank}
          data-rank={rank.rank}
          data-phase={rank.phase}
          data-waits={rank.phase === 'running' && !!rank.operation}
          tabIndex={rank.rank === tab ? 0 : -1}
          onFocus={() => setActive(rank.rank)}
          onClick={() => void model.focus(rank.rank).catch(onError)}
          title={[
            rank.phase === 'paused' ? '' : place(rank),
            rank.place ? inFull(rank.place, known, trans) : ''
          ]
            .filter(Boolean)
            .join(' · ')}
        >
          <b>{rank.rank}</b>
          <Glyph
            kind={glyphOf(rank, hasEnded(view))}
            // beside it: the position if paused, otherwise the state
            label={rank.phase === 'paused' ? trans.__('paused') : ''}
          />
          <span>{inParts(place(rank))}</span>
        </button>
      ))}
    </div>
  );
}

/**
 * A place, as a square may be too narrow for it: the whole number of a cell, "[16],", and that of a line may be on
 * the next line. Names are cut rather than broken; the whole place is seen when pointed at.
 */
function inParts(place: string): string {
  return place.replace(/\u00a0(?=\[)/, ' ');
}

/** Where a rank has stopped, with the whole path of its file: "step · cell [7], line 6". */
function inFull(
  place: NonNullable<RankView['place']>,
  lookup: ICellLookup,
  trans: TranslationBundle
): string {
  const { file: path, line } = place;
  const name = lookup.nameOfRanks(path);
  return `${place.function} · ${rankLineOf({ path, name, line }, trans)}`;
}

/** Too many ranks for squares: choose one by number, or see how many are at each place. */
function Places({ model, view, cells, trans, onError }: ISending): JSX.Element {
  return (
    <>
      <ByNumber
        view={view}
        trans={trans}
        look={rank => void model.focus(rank).catch(onError)}
      />
      <ul className="jp-DtrainDebug-positions">
        {byPlace(view, cells, trans).map(group => (
          <li key={`${group.glyph} ${group.place}`}>
            <button
              type="button"
              aria-pressed={
                view.focus !== null && group.ranks.includes(view.focus)
              }
              onClick={() => void model.focus(group.ranks[0]).catch(onError)}
            >
              <Glyph kind={group.glyph} label={group.place} />
              {trans._n(
                '%1 rank: %2',
                '%1 ranks: %2',
                group.ranks.length,
                group.place
              )}
              <span className="jp-DtrainUi-under">
                {formatRanks(group.ranks)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
