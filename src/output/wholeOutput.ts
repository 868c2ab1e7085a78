import { ILine, parseLines } from './lines/lines';
import { NOTHING } from './lines/omitted';
import { shortLines } from './lines/trim';
import { ICellOutput } from './runs/cellOutput';
import { JournalOutputs } from './runs/journalOutputs';

/** All lines of a cell, and the part of each display of a rank. */
export interface IWhole {
  lines: readonly ILine[];
  displays: ReadonlyMap<number, readonly number[]>;
}

/**
 * All lines and displays of a cell's journal.
 *
 * @param gone - ranks whose processes, in which the cell ran, have ended.
 */
export function wholeOf(
  journal: JournalOutputs,
  gone: ReadonlySet<number>
): IWhole {
  const { lines, displays } = journal.whole(gone);
  return {
    displays,
    lines: lines.flatMap(({ name, text, part }) =>
      parseLines(shortLines(text), name === 'stderr').map(line =>
        part ? { ...line, part } : line
      )
    )
  };
}

/** A cell's output with all lines, in order with the displays. */
export function withWhole(
  output: ICellOutput,
  { lines, displays }: IWhole
): ICellOutput {
  const counts = new Map<number, number>();
  const parts = output.parts.map((part, i) => {
    const rank = output.places[i];
    if (rank === null || rank === undefined) {
      return part;
    }
    const before = counts.get(rank) ?? 0;
    counts.set(rank, before + 1);
    return displays.get(rank)?.[before] ?? part;
  });
  return { ...output, lines, parts, left: NOTHING };
}
