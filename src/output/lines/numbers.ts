import { blanked } from './ansi';

/** A number of a line that may differ between ranks. */
export interface INumber {
  start: number;
  end: number;
  text: string;
  value: number;
  whole: boolean;
}

const UNIT =
  '(?:%|[µunm]?s|min|h|d|x|it|[kMGTP]?i?B|[kKMGT]|[kMG]?Hz|°?C|W|px|GFLOPS|TFLOPS)?(?:/(?:s|it|step|rank|batch|epoch))?';
/** A word that is a number: after a key and brackets, before a unit and punctuation. */
const WORD = new RegExp(
  `^([("'[{<]*(?:([A-Za-z_][\\w.]*)[=:])?[("'[{<]*)` +
    `([-+]?(?:\\d{1,3}(?:,\\d{3})+|\\d+)(?:\\.\\d+)?(?:e[-+]?\\d+)?)` +
    `${UNIT}(?:/\\d+)?[)\\]}"'>,;:.!?]*$`,
  'i'
);
/** Numbers after these words are identifiers, and never part of a range. */
const IDENTITY = new Set(
  (
    'id ids pid ppid uid gid tid uuid key port seed hash sha md5 token cuda gpu device dev node host ip addr ' +
    'address version job thread process date day year line ' +
    'jan feb mar apr may jun jul aug sep oct nov dec'
  ).split(' ')
);
/** Integers from here on are ids, or times. */
const MOST_WHOLE = 1e9;

/** Numbers that may be folded: not part of a date, a time, an address, a path, a version or a name. */
export function numbersOf(text: string): INumber[] {
  const found: INumber[] = [];
  let before = '';
  for (const word of blanked(text).matchAll(/\S+/g)) {
    const match = WORD.exec(word[0]);
    if (match && mayDiffer(match[3], match[2] ?? before)) {
      const start = word.index + match[1].length;
      const number = match[3];
      found.push({
        start,
        end: start + number.length,
        text: number,
        value: Number(number.replace(/,/g, '')),
        whole: /^[-+]?[\d,]+$/.test(number)
      });
    }
    before = word[0];
  }
  return found;
}

function mayDiffer(number: string, key: string): boolean {
  const words = key.toLowerCase().split(/[^a-z0-9]+/);
  const last = words.filter(Boolean).pop() ?? '';
  const plain = number.replace(/^[-+]/, '');
  return !(
    IDENTITY.has(last) ||
    /^0\d/.test(plain) ||
    (/^\d+$/.test(plain) && Number(plain) >= MOST_WHOLE)
  );
}

/** Integers this close to each other may be shown as a range, however small they are. */
const NEAR_WHOLE = 64;

/** Values that are close to each other: an outlier keeps its own line. */
export function near(low: number, high: number, whole: boolean): boolean {
  if (whole) {
    return high - low <= NEAR_WHOLE || (low > 0 && high <= 3 * low);
  }
  return (
    high - low <= 1 ||
    (low > 0 && high <= 10 * low) ||
    (high < 0 && low >= 10 * high)
  );
}
