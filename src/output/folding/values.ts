import { INumber, near } from '../lines/numbers';
import { IPositions } from './positions';

/** A line, as far as it decides whether it is folded with others. */
export interface IRead {
  line: { ranks: readonly number[] };
  numbers: readonly INumber[];
  positions: IPositions;
}

/** Maximum number of ranks whose integers are listed one by one if they have no order. */
export const MOST_LISTED = 8;

/** A rank, and its number. */
interface IPoint {
  rank: number;
  value: number;
}

/**
 * The values of a group's lines at the indices of numbers in which they differ. It decides whether another line
 * fits without looking at each line again: a group may have thousands.
 */
export class Values {
  /**
   * @param _at - the indices.
   * @param lines - the lines, at least one.
   */
  constructor(
    private _at: readonly number[],
    lines: readonly IRead[]
  ) {
    const [first] = lines;
    this._key = _at.join();
    this._position = first.positions.get(this._key);
    lines.forEach(line => this.add(line));
  }

  /** Whether another line may be folded with these lines: its values are close, and can be displayed. */
  fits(line: IRead): boolean {
    const { value, whole } = line.numbers[this._at[0]];
    return (
      this._areAlike(line) &&
      near(
        Math.min(this._min, value),
        Math.max(this._max, value),
        this._whole && whole
      ) &&
      (this._at.length < 2 || this._isDisplayed(line.line.ranks, value))
    );
  }

  /** Add a line. */
  add(line: IRead): void {
    const { value, whole } = line.numbers[this._at[0]];
    this._alike = this._areAlike(line);
    this._min = Math.min(this._min, value);
    this._max = Math.max(this._max, value);
    this._whole &&= whole;
    for (const rank of line.line.ranks) {
      this._even = this._even && this._isOnLine({ rank, value });
      this._rising = this._rising && this._rises({ rank, value });
      this._points.splice(this._index(rank), 0, { rank, value });
    }
  }

  /** Whether each line, this one too, has the same position, and the same integer at all indices. */
  private _areAlike({ numbers, positions }: IRead): boolean {
    const [first] = this._at;
    return (
      this._alike &&
      positions.get(this._key) === this._position &&
      (this._at.length < 2 ||
        this._at.every(
          i => numbers[i].whole && numbers[i].text === numbers[first].text
        ))
    );
  }

  /**
   * Whether the integers of all ranks can be displayed in one line: there are few, they are consecutive in the
   * order of the ranks, or they grow evenly with the rank.
   */
  private _isDisplayed(ranks: readonly number[], value: number): boolean {
    const count = this._points.length + ranks.length;
    const range = Math.max(this._max, value) - Math.min(this._min, value);
    const [rank] = ranks;
    return (
      count <= MOST_LISTED ||
      (ranks.length === 1 &&
        ((this._even && this._isOnLine({ rank, value })) ||
          (this._rising &&
            this._rises({ rank, value }) &&
            range === count - 1)))
    );
  }

  /** Whether a value is where the values of the first and the last rank place it, if values grow with the rank. */
  private _isOnLine({ rank, value }: IPoint): boolean {
    if (this._points.length < 2) {
      return !this._points.length || this._rises({ rank, value });
    }
    const [low, high] = [
      this._points[0],
      this._points[this._points.length - 1]
    ];
    // without a division, which is not exact
    return (
      (value - low.value) * (high.rank - low.rank) ===
      (high.value - low.value) * (rank - low.rank)
    );
  }

  /** Whether a value is more than that of the next lower rank, and less than that of the next higher one. */
  private _rises({ rank, value }: IPoint): boolean {
    const at = this._index(rank);
    const [before, after] = [this._points[at - 1], this._points[at]];
    return (!before || before.value < value) && (!after || value < after.value);
  }

  /** Index among the points, which are in the order of ranks, at which a rank belongs. */
  private _index(rank: number): number {
    let low = 0;
    let high = this._points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this._points[middle].rank < rank) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private _key: string;
  private _position: number | undefined;
  private _min = Infinity;
  private _max = -Infinity;
  private _whole = true;
  private _alike = true;
  private _even = true;
  private _rising = true;
  private _points: IPoint[] = [];
}

/**
 * Indices of the numbers in which lines differ, if another line can be folded with them: it is one number, or the
 * line has the same integer at all of these positions, as in "from 0 step 1 0". Null if it can't be folded.
 *
 * @param before - indices in which the lines differ without the last one
 * @param first - numbers of the first line
 * @param last - numbers of the last line
 */
export function differing(
  before: readonly number[],
  first: readonly INumber[],
  last: readonly INumber[]
): readonly number[] | null {
  if (!mightFold(first, last)) {
    return null;
  }
  const now = last.flatMap((n, i) =>
    n.text !== first[i].text || before.includes(i) ? [i] : []
  );
  const same = now.every(
    i => last[i].whole && last[i].text === last[now[0]].text
  );
  return now.length < 2 || same ? now : null;
}

/** Whether no two numbers of a line differ independently from another's: most lines are refused here. */
function mightFold(
  first: readonly INumber[],
  last: readonly INumber[]
): boolean {
  let other: INumber | null = null;
  for (let i = 0; i < last.length; i++) {
    const number = last[i];
    if (number.text !== first[i].text) {
      if (other && (!number.whole || number.text !== other.text)) {
        return false;
      }
      other = number;
    }
  }
  return true;
}
