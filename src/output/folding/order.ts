import { ILine } from '../lines/lines';

/** An entry that represents lines of one or several ranks. */
interface IEntry {
  /** Its position among all entries. */
  at: number;
  /** Empty if it represents a line that stays by itself. */
  readonly shape: string;
  /** Key that it shares with lines that are equal to its first one. */
  readonly same: string;
  readonly error: boolean;
  readonly ranks: ReadonlySet<number>;
}

/** A line for which an entry is looked for. */
interface IWanted {
  ranks: readonly number[];
  error: boolean;
  shape: string;
  same: string;
}

/** Maximum total number of entries that are inspected to move some before others. */
const MOST_LOOKS = 500_000;

/** Entries in an order that keeps that of each rank's lines, those of stdout and those of stderr. */
export class Order<T extends IEntry> {
  readonly all: T[] = [];

  /** Add an entry as the last one. */
  push(entry: T): T {
    entry.at = this.all.push(entry) - 1;
    if (entry.shape) {
      add(this._alike, entry.shape, entry);
      add(this._equal, entry.same, entry);
    }
    return entry;
  }

  /** Mark an entry as representing this line: later lines of its ranks come after it. */
  note(line: ILine, entry: T): void {
    for (const rank of line.ranks) {
      this._last.set(`${rank} ${line.error}`, entry);
    }
  }

  /**
   * The first entry of this shape that accepts a line, and can be placed after all earlier lines of its
   * ranks; an entry that is equal, however far away it is.
   */
  find(line: IWanted, take: (entry: T) => boolean, most: number): T | null {
    const alike = this._alike.get(line.shape);
    const equal = this._equal.get(line.same) ?? [];
    if (!alike) {
      return null;
    }
    const behind = Math.max(
      -1,
      ...line.ranks.map(r => this._last.get(`${r} ${line.error}`)?.at ?? -1)
    );
    const from = after(alike, behind);
    return (
      firstOf(alike, from, from + most, take) ??
      firstOf(equal, after(equal, behind), Infinity, take) ??
      this._before(alike, from, behind, line, take, most)
    );
  }

  /**
   * As `find`, but among entries before the last line of these ranks, whose own later lines are then moved
   * before the entry. Without this, ranks that once printed in another order would never be folded again.
   *
   * @param end - index behind the last one of `alike` that is before that line
   */
  private _before(
    alike: readonly T[],
    end: number,
    behind: number,
    line: IWanted,
    take: (entry: T) => boolean,
    most: number
  ): T | null {
    if (!end) {
      return null;
    }
    const own = new Set<T>();
    let low = behind;
    for (; low > alike[0].at && this._looks < MOST_LOOKS; low--) {
      const entry = this.all[low];
      this._looks++;
      if (
        entry.error === line.error &&
        line.ranks.some(rank => entry.ranks.has(rank))
      ) {
        if ([...entry.ranks].some(rank => !line.ranks.includes(rank))) {
          break;
        }
        own.add(entry);
      } else if (!entry.ranks.size) {
        break;
      }
    }
    const from = after(alike, low - 1);
    const match = firstOf(alike, from, Math.min(end, from + most), take);
    if (match) {
      this._move(match.at, behind, own);
    }
    return match;
  }

  /** Move some entries of a range to its beginning. */
  private _move(from: number, to: number, own: ReadonlySet<T>): void {
    const stretch = this.all.slice(from, to + 1);
    const moved = [
      ...stretch.filter(entry => own.has(entry)),
      ...stretch.filter(entry => !own.has(entry))
    ];
    moved.forEach((entry, i) => {
      entry.at = from + i;
      this.all[entry.at] = entry;
    });
    this._looks += stretch.length;
    for (const shape of new Set(moved.map(entry => entry.shape))) {
      this._alike.get(shape)?.sort((a, b) => a.at - b.at);
    }
    for (const same of new Set(moved.map(entry => entry.same))) {
      this._equal.get(same)?.sort((a, b) => a.at - b.at);
    }
  }

  /** Shape → its entries, in order. */
  private _alike = new Map<string, T[]>();
  /** Key of equal lines → their entries, in order. */
  private _equal = new Map<string, T[]>();
  /** Rank and stream → the entry with its last line. */
  private _last = new Map<string, T>();
  private _looks = 0;
}

function add<T>(lists: Map<string, T[]>, key: string, entry: T): void {
  const list = lists.get(key);
  if (list) {
    list.push(entry);
  } else {
    lists.set(key, [entry]);
  }
}

/** The first entry of a range that accepts a line; null if none does. */
function firstOf<T>(
  entries: readonly T[],
  from: number,
  to: number,
  take: (entry: T) => boolean
): T | null {
  for (let i = from; i < Math.min(to, entries.length); i++) {
    if (take(entries[i])) {
      return entries[i];
    }
  }
  return null;
}

/** Index of the first entry after a position. */
function after<T extends IEntry>(sorted: readonly T[], place: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle].at > place) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}
