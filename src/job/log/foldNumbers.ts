import { blanked } from '../../output/lines/ansi';
import { counts, differing } from '../../output/lines/fold';
import { INumber, near, numbersOf } from '../../output/lines/numbers';
import { LogLine } from '../../tokens';

/** Numbers after these words are a rank's progress: different numbers refer to different steps. */
const COUNTER = /\b(?:steps?|epochs?|iter(?:ation)?s?|batch|round|it)\W*$/i;

/** A line in which a number may differ between ranks. */
interface IShaped {
  /** The line without its numbers. */
  shape: string;
  numbers: readonly INumber[];
}

/** Cache, because a log is folded again with each new piece. */
const shapes = new WeakMap<LogLine, IShaped>();

function shapeOf(line: LogLine): IShaped {
  let found = shapes.get(line);
  if (!found) {
    const { text } = line;
    const bare = blanked(text);
    const numbers = numbersOf(text).filter(
      n => n.whole && !COUNTER.test(bare.slice(0, n.start))
    );
    let shape = '';
    let from = 0;
    for (const { start, end } of numbers) {
      shape += `${text.slice(from, start)}\u0000`;
      from = end;
    }
    found = { shape: shape + text.slice(from), numbers };
    shapes.set(line, found);
  }
  return found;
}

/**
 * Merge lines of several ranks that differ in one integer, which may stand at several places: the numbers of all
 * ranks replace it, so that each rank's can be read. If they can't, as for many ranks without an order, a line is not merged.
 */
export class OneNumber {
  constructor(private _line: LogLine) {
    this._of = shapeOf(_line);
    this._all = [{ rank: _line.rank, numbers: this._of.numbers }];
  }

  /** Merge a line of another rank; false if it stays separate. */
  take(line: LogLine): boolean {
    const { shape, numbers } = shapeOf(line);
    if (shape !== this._of.shape) {
      return false;
    }
    const differ = differing(this._at, this._all, numbers);
    if (differ === null) {
      return false;
    }
    const all = [...this._all, { rank: line.rank, numbers }];
    if (differ.length) {
      const values = all.map(one => one.numbers[differ[0]].value);
      if (
        !near(Math.min(...values), Math.max(...values), true) ||
        numbersText(all, differ[0]) === null
      ) {
        return false;
      }
    }
    this._all = all;
    this._at = differ;
    return true;
  }

  /** The merged line. */
  get text(): string {
    const { text } = this._line;
    const said = this._at.length ? numbersText(this._all, this._at[0]) : null;
    if (said === null) {
      return text;
    }
    let shown = '';
    let from = 0;
    for (const at of this._at) {
      const { start, end } = this._of.numbers[at];
      shown += text.slice(from, start) + said;
      from = end;
    }
    return shown + text.slice(from);
  }

  private readonly _of: IShaped;
  private _all: readonly IRank[];
  /** Indices of the numbers that differ. */
  private _at: readonly number[] = [];
}

/** The numbers in a rank's line. */
interface IRank {
  rank: number;
  numbers: readonly INumber[];
}

/** The numbers of all ranks in one line; null if a rank's number could not be read from it. */
function numbersText(all: readonly IRank[], at: number): string | null {
  return counts(all.map(({ rank, numbers }) => ({ rank, of: numbers[at] })));
}
