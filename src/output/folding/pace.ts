/** Lines are taken to be of one step if more than this share of all ranks print them at the same pace. */
const NEARLY_ALL = 0.75;
/** A rank with a single line may be behind by as many: the next one is on its way. */
const ON_ITS_WAY = 1;

/**
 * How often ranks print lines that are alike. A rank whose lines come late is behind by about as many each time; one
 * that prints more rarely falls further and further behind.
 */
export class Pace {
  /**
   * @param _hasEnded - whether all lines are there, so that ranks with fewer ones have printed fewer.
   */
  constructor(private _hasEnded = false) {}

  /**
   * Add a line, in the order in which lines came.
   *
   * @param place - how many such lines its ranks have printed, with itself
   */
  add(ranks: readonly number[], place: number): void {
    this._most = Math.max(this._most, place);
    for (const rank of ranks) {
      this._places.set(rank, place);
      const behind = this._behind.get(rank);
      if (behind) {
        behind.push(this._most - place);
      } else {
        this._behind.set(rank, [this._most - place]);
      }
    }
  }

  /** Whether a rank prints as often as the one that prints most. Call it once all lines are added. */
  keepsUp = (rank: number): boolean => {
    const known = this._keepUp.get(rank) ?? this._doesKeepUp(rank);
    this._keepUp.set(rank, known);
    return known;
  };

  /**
   * Whether nearly all ranks have printed so many lines, at the same pace. Call it once all lines are added.
   *
   * @param ranks - number of ranks that print
   */
  isShared(place: number, ranks: number): boolean {
    this._sorted ??= [...this._places]
      .filter(([rank]) => this.keepsUp(rank))
      .map(([, last]) => last)
      .sort((a, b) => b - a);
    const least = Math.floor(NEARLY_ALL * ranks);
    return least < this._sorted.length && place <= this._sorted[least];
  }

  private _doesKeepUp(rank: number): boolean {
    const place = this._places.get(rank) ?? 0;
    if (this._hasEnded) {
      return place === this._usual;
    }
    const behind = this._behind.get(rank) ?? [];
    if (place === this._most) {
      return true;
    }
    if (behind.length < 2) {
      return behind[0] === 0 && this._most - place <= ON_ITS_WAY;
    }
    const some = Math.ceil(behind.length / 4);
    const first = behind.slice(0, some).reduce((a, b) => Math.max(a, b));
    const last = behind.slice(-some).reduce((a, b) => Math.min(a, b));
    return last <= first;
  }

  /** How many lines most ranks have printed; of two such numbers, the higher one. */
  private get _usual(): number {
    const ranks = new Map<number, number>();
    for (const place of this._places.values()) {
      ranks.set(place, (ranks.get(place) ?? 0) + 1);
    }
    const [[usual]] = [...ranks].sort((a, b) => b[1] - a[1] || b[0] - a[0]);
    return usual;
  }

  /** The highest place of any rank. */
  private _most = 0;
  /** Rank → the place of its last line. */
  private _places = new Map<number, number>();
  /** Rank → by how many lines it was behind when each of its lines came. */
  private _behind = new Map<number, number[]>();
  /** Rank → whether it keeps up. */
  private _keepUp = new Map<number, boolean>();
  /** Places of the ranks that keep up, highest first. */
  private _sorted: number[] | null = null;
}
