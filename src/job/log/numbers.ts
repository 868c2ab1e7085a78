import { blanked } from '../../output/lines/ansi';
import { counts, INumber, near, numbersOf } from '../../output/lines/fold';
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
const known = new WeakMap<LogLine, IShaped>();

function shapeOf(line: LogLine): IShaped {
  let found = known.get(line);
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
    known.set(line, found);
  }
  return found;
}

/**
 * Merge lines of several ranks that differ in one integer: the numbers of all ranks replace it, so that each
 * rank's can be read. If they can't, as for many ranks without an order, a line is not merged.
 */
export class OneNumber {
  constructor(private _line: LogLine) {
    this._of = shapeOf(_line);
    this._all = [{ rank: _line.rank, of: this._of.numbers }];
  }

  /** Merge a line of another rank; false if it stays separate. */
  take(line: LogLine): boolean {
    const { shape, numbers } = shapeOf(line);
    if (shape !== this._of.shape) {
      return false;
    }
    const all = [...this._all, { rank: line.rank, of: numbers }];
    const differ = numbers.flatMap((_, i) =>
      all.some(({ of }) => of[i].text !== this._of.numbers[i].text) ? [i] : []
    );
    if (differ.length > 1) {
      return false;
    }
    const at = differ[0] ?? -1;
    if (at >= 0) {
      const values = all.map(({ of }) => of[at].value);
      if (
        !near(Math.min(...values), Math.max(...values), true) ||
        told(all, at) === null
      ) {
        return false;
      }
    }
    this._all = all;
    this._at = at;
    return true;
  }

  /** The merged line. */
  get text(): string {
    const { text } = this._line;
    const said = this._at < 0 ? null : told(this._all, this._at);
    if (said === null) {
      return text;
    }
    const { start, end } = this._of.numbers[this._at];
    return text.slice(0, start) + said + text.slice(end);
  }

  private readonly _of: IShaped;
  private _all: readonly { rank: number; of: readonly INumber[] }[];
  /** Which number differs; -1 while none does. */
  private _at = -1;
}

/** The numbers of all ranks in one line; null if a rank's number could not be read from it. */
function told(
  all: readonly { rank: number; of: readonly INumber[] }[],
  at: number
): string | null {
  return counts(all.map(({ rank, of }) => ({ rank, of: of[at] })));
}
