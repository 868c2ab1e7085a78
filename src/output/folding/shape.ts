import { parseBar } from '../lines/lines';
import { INumber, numbersOf } from '../lines/numbers';
import { familiesOf, IFamily } from './positions';

/** What is read from the text of a line to fold it; it is the same each time. */
export interface IShape {
  /** The numbers, one of which may differ between ranks. */
  numbers: readonly INumber[];
  /** The number of the rank that wrote the line, after "rank"; it differs besides, and is none of `numbers`. */
  readonly own: INumber | null;
  /** The stream, and the text without the numbers. */
  shape: string;
  /**
   * Key that adjacent lines share if they are sorted by rank: the text without all numbers, also those of processes or
   * ports, but with times; or the description of a progress bar.
   */
  readonly like: string;
  /** The families of the line, as from `familiesOf`. */
  readonly families: readonly IFamily[];
}

/** A time, a date or seconds since 1970; lines that have some stay in that order. */
const TIME = /\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?|\d{4}-\d{2}-\d{2}|\d{10,}/;
const TIME_OR_NUMBER = new RegExp(`(${TIME.source})|0x[\\da-f]+|\\d+`, 'gi');

/** As `IShape`; what takes long is read only if it matters, and once. */
class Shape implements IShape {
  constructor(
    private _text: string,
    readonly numbers: readonly INumber[],
    readonly own: INumber | null,
    readonly shape: string
  ) {}

  get like(): string {
    if (this._like === null) {
      const bar = parseBar(this._text);
      this._like = bar ? `bar ${bar.label}` : withoutNumbers(this.shape);
    }
    return this._like;
  }

  get families(): readonly IFamily[] {
    this._families ??= familiesOf(this.shape, this.numbers);
    return this._families;
  }

  private _families: readonly IFamily[] | null = null;
  private _like: string | null = null;
}

function withoutNumbers(shape: string): string {
  return shape.replace(TIME_OR_NUMBER, (_, time?: string) => time ?? '\u0000');
}

/**
 * Maximum number of numbers in a line that may differ between ranks. The text around each one is kept for itself, so that a
 * list of 3,000 values took minutes; lines with more are folded only if they are equal.
 */
const MOST_NUMBERS = 12;

/**
 * Read a line.
 *
 * @param text - its text
 * @param error - whether it is on stderr
 * @param mayDiffer - whether its numbers may differ between ranks
 * @param ranks - who wrote it
 */
export function readShape(
  text: string,
  error: boolean,
  mayDiffer: boolean,
  ranks: readonly number[]
): IShape {
  const found = mayDiffer ? numbersOf(text) : [];
  const named = found.find(number => number.ofRank);
  const own =
    named && ranks.length === 1 && named.text === String(ranks[0])
      ? named
      : null;
  const many = found.length > MOST_NUMBERS;
  const all = many ? found.filter(number => number === own) : found;
  let shape = String(error);
  let from = 0;
  for (const number of all) {
    shape += text.slice(from, number.start);
    shape += number === own ? '\u0001' : '\u0000';
    from = number.end;
  }
  const numbers = all.filter(number => number !== own);
  return new Shape(text, numbers, own, shape + text.slice(from));
}
