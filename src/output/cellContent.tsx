import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';
import { createPortal } from 'react-dom';

import { Bar, IBarActions } from './cellBar';
import { IPlacedBlock } from './text/interleaved';
import { IWidgetNotes, WidgetNotes } from './displays/widgetNotes';
import { Failure, IFailureActions } from './failure';
import { foldLines } from './folding/fold';
import { ILine, linesOf } from './lines/lines';
import { ICellOutput } from './runs/cellOutput';
import { ILeft, ILeftRows, linesLeft, rowsOf } from './text/leftLines';
import { Area, Lines } from './text/rows';
import { IRunStatus, variablesSurvive } from './runStatus';
import { outcomeOf } from './runs/outcome';
import { hintIn, parseTracebacks, tracebacksOf } from './lines/traceback';
import { Choice } from './lines/parts';

/** State of a cell of ranks. */
export interface ICellState extends IWidgetNotes {
  output: ICellOutput;
  ranks: readonly number[];
  status: IRunStatus;
  choice: Choice;
  /** Text between displays of ranks; the rest is above. */
  between: readonly IPlacedBlock[];
  left: ILeft;
}

/** The bar of a cell, and its lines. */
export function CellView(props: {
  state: ICellState;
  trans: TranslationBundle;
  actions: IBarActions & IFailureActions;
}): JSX.Element {
  const { state, trans, actions } = props;
  const { choice, ranks, status, left, between } = state;
  const { output } = state;
  // by rank, all text is placed between the displays
  const above = !between.length
    ? output.lines
    : choice === 'by rank'
      ? []
      : output.lines.filter(line => !line.part);
  const folded = (): { lines: ILine[]; left: ILeftRows } => {
    const rows = foldLines(above, ranks.length, status.state === 'done');
    return { lines: rows, left: rowsOf(left, rows, above, ranks.length) };
  };
  const ofRank = (
    lines: ILine[],
    r: number
  ): { lines: ILine[]; left: ILeftRows } => ({
    lines,
    left: linesLeft(left, r)
  });
  const isCut = left.gone.lines > 0;
  // a rank that has printed nothing would leave an empty block
  const hasOutput = (r: number): boolean =>
    left.gone.unknown > 0 ||
    left.gone.ofRank.has(r) ||
    linesOf(above, r).length > 0 ||
    output.area.some(row => row.ranks.includes(r));
  const isAbove = !between.length || choice !== 'by rank';
  const rank = typeof choice === 'number' ? choice : null;
  const own = status.state === 'interrupted' || status.state === 'not run';
  // of a cell that was interrupted while queued, there is nothing to choose from
  const isEmpty = own && !isCut && !output.ranks.length && !output.lines.length;
  const { record, said } = status;
  const raised = (record?.result ?? record)?.failures.filter(
    f => f.kind === 'raised'
  );
  const failureRows = own ? [] : (output.failure?.rows ?? []);
  const rows = raised ? [] : failureRows;
  const tracebacks = own
    ? []
    : raised
      ? tracebacksOf(raised)
      : parseTracebacks(rows);
  const outcome = outcomeOf(
    said,
    record?.result?.sentence || output.failure?.sentence || '',
    tracebacks.length > 0,
    variablesSurvive(status),
    trans
  );
  return (
    <>
      <Bar
        status={status}
        ranks={ranks}
        choice={choice}
        hasChoice={ranks.length > 1 && !isEmpty}
        outcome={outcome}
        actions={actions}
        trans={trans}
      />
      {isAbove && (above.length > 0 || isCut || output.area.length > 0) && (
        <div className="jp-DtrainOutput-out">
          {choice === 'by rank' ? (
            ranks.filter(hasOutput).map(r => (
              <section
                key={r}
                aria-label={trans.__('Rank %1', r)}
                className="jp-DtrainOutput-block"
              >
                <Lines {...ofRank(ownLines(above, r), r)} trans={trans} />
                <Area rows={output.area} rank={r} />
              </section>
            ))
          ) : (
            <>
              <Lines
                {...(rank === null
                  ? folded()
                  : ofRank(linesOf(above, rank), rank))}
                trans={trans}
              />
              <Area rows={output.area} rank={rank} />
            </>
          )}
        </div>
      )}
      {between.map(block =>
        createPortal(
          <Block {...props} block={block} />,
          block.host,
          `${block.rank} ${block.order}`
        )
      )}
      <WidgetNotes notes={state} trans={trans} />
      <Failure
        tracebacks={tracebacks}
        chosen={rank}
        rows={rows}
        hint={hintIn(failureRows)}
        actions={actions}
        trans={trans}
      />
    </>
  );
}

/** Text between displays. */
function Block(props: {
  block: IPlacedBlock;
  state: ICellState;
  trans: TranslationBundle;
}): JSX.Element {
  const { block, state, trans } = props;
  const { rank, lines, last } = block;
  // the omission in the middle is reported once, above
  const left = { ...state.left, gone: 0 };
  if (state.choice !== 'by rank' || rank === null) {
    const isDone = state.status.state === 'done';
    const shown =
      rank === null ? foldLines(lines, state.ranks.length, isDone) : lines;
    return <Lines lines={shown} left={left} trans={trans} />;
  }
  return (
    <>
      <Lines lines={ownLines(lines, rank)} left={left} trans={trans} />
      {last && <Area rows={state.output.area} rank={rank} />}
    </>
  );
}

/** A rank's lines, with that rank as their only one. */
function ownLines(lines: readonly ILine[], rank: number): ILine[] {
  return linesOf(lines, rank).map(line => ({
    ...line,
    ranks: line.ranks.length ? [rank] : []
  }));
}
