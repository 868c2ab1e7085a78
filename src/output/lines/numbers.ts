import { blanked } from './ansi';

/** A number of a line that may differ between ranks. */
export interface INumber {
  start: number;
  end: number;
  text: string;
  value: number;
  whole: boolean;
  /** Whether it follows the word "rank". */
  ofRank: boolean;
  /** Whether it follows a word that says that it counts, as "step". */
  ofStep: boolean;
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
    'address version job thread process date day year ' +
    'jan feb mar apr may jun jul aug sep oct nov dec'
  ).split(' ')
);
/** Numbers after these words count what all ranks count. */
const COUNTED = new Set(
  (
    'step steps epoch epochs iter iters iteration iterations batch minibatch round update episode checkpoint ckpt ' +
    'tick generation'
  ).split(' ')
);
/** What is before "line" where that is a place in a file: "File x.py, line 3", "in line 3", "line 3" at the beginning. */
const PLACE = /^$|,$|^(?:at|on|in|near|from|see)$/i;
/** Integers from here on are ids, or times. */
const MOST_WHOLE = 1e9;

/** Numbers that may be folded: not part of a date, a time, an address, a path, a version or a name. */
export function numbersOf(text: string): INumber[] {
  const numbers: INumber[] = [];
  let before = '';
  let earlier = '';
  for (const word of blanked(text).matchAll(/\S+/g)) {
    const match = WORD.exec(word[0]);
    const key = match?.[2] ?? before;
    const place = PLACE.test(match?.[2] ? before : earlier);
    if (match && mayDiffer(match[3], key, place)) {
      const start = word.index + match[1].length;
      const number = match[3];
      numbers.push({
        start,
        end: start + number.length,
        text: number,
        value: Number(number.replace(/,/g, '')),
        whole: /^[-+]?[\d,]+$/.test(number),
        ofRank: lastWord(key) === 'rank',
        ofStep: COUNTED.has(lastWord(key))
      });
    }
    [earlier, before] = [before, word[0]];
  }
  return numbers;
}

function lastWord(text: string): string {
  const words = text.toLowerCase().split(/[^a-z0-9]+/);
  return words.filter(Boolean).pop() ?? '';
}

/** @param place - whether "line" before the number would be a place in a file. */
function mayDiffer(number: string, key: string, place: boolean): boolean {
  const last = lastWord(key);
  const plain = number.replace(/^[-+]/, '');
  return !(
    IDENTITY.has(last) ||
    (last === 'line' && place) ||
    /^0\d/.test(plain) ||
    (/^\d+$/.test(plain) && Number(plain) >= MOST_WHOLE)
  );
}

/** Integers this close to each other may be shown as a range, however small they are. */
const NEAR_WHOLE = 64;

/** Values that are close to each other: an outlier keeps its own line. */
export function near(low: number, high: number, whole: boolean): boolean {
  const [small, large] = [Math.abs(low), Math.abs(high)].sort((a, b) => a - b);
  return (
    high - low <= (whole ? NEAR_WHOLE : 1) ||
    (small > 0 && large <= (whole ? 3 : 10) * small)
  );
}
