import { INumber } from '../lines/numbers';

/** A number of lines that are alike: whether it counts, as "step 5", or is a size, as "24 rows". */
export class Count {
  /** @param _isNamed - whether the word before it says that it counts. */
  constructor(private _isNamed: boolean) {}

  /**
   * Add a number.
   *
   * @param rank - who has printed it
   * @param before - the number in the rank's line before; undefined if this is the first
   */
  add({ value, whole }: INumber, rank: number, before?: number): void {
    this._whole &&= whole;
    if (!this._whole || before === undefined) {
      return;
    }
    this._ups += value > before ? 1 : 0;
    this._stays += value === before ? 1 : 0;
    if (value < before) {
      this._downs++;
      const known = this._starts.get(rank) ?? value;
      this._starts.set(rank, known);
      this._restarts &&= known === value;
    }
  }

  /**
   * Whether it counts, or could: it is named so, or changes from line to line in a way in which numbers that count do. A
   * rank that prints a few steps of each epoch has as many steps down as up, but each begins anew at the same number.
   */
  get mayCount(): boolean {
    const changes = this._ups + this._downs > 0;
    return (
      this._isNamed ||
      (this._whole && changes && (this._isSteady || this._restarts))
    );
  }

  /** Whether it tells a rank's lines apart: nearly each line has another number. */
  get isStep(): boolean {
    return (
      this._whole &&
      this._ups + this._downs > 3 * this._stays &&
      (this._isNamed || this._isSteady)
    );
  }

  /** Whether each rank counts up, or down: it may start again for each epoch. */
  private get _isSteady(): boolean {
    return this._ups > 3 * this._downs || this._downs > 3 * this._ups;
  }

  private _whole = true;
  private _ups = 0;
  private _downs = 0;
  private _stays = 0;
  /** Rank → the number at which it began anew. */
  private _starts = new Map<number, number>();
  /** Whether each rank has begun anew at the same number each time. */
  private _restarts = true;
}
