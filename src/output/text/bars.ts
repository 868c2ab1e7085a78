import { formatShare } from '../../metrics/format';
import { parseBar } from '../lines/lines';
import { INumber, numbersOf } from '../lines/numbers';

/** A row that ranks overwrite: a progress bar, or another text. */
interface IRow {
  ranks: readonly number[];
  text: string;
}

/** tqdm's times and rate, "[00:03<00:02, 9.89it/s"; after them are the values of `set_postfix`, as ", loss=0.5". */
const TIMES = /\[[\d:]+<[\d:?]+,\s*[^,\]]*/;

/** Numbers of the values behind a bar's times, with their positions in the bar's text. */
function valuesOf(text: string): { at: number; numbers: INumber[] } {
  const times = TIMES.exec(text);
  const at = times ? times.index + times[0].length : text.length;
  const numbers = numbersOf(text.slice(at).replace(/\]\s*$/, '')).map(
    number => ({ ...number, start: number.start + at, end: number.end + at })
  );
  return { at, numbers };
}

/** The values of a bar without their numbers: "loss=, lr=". */
function wordsOf(text: string): string {
  const { at, numbers } = valuesOf(text);
  return replaced(
    text,
    numbers,
    numbers.map(() => '')
  ).slice(at);
}

/** A text with others in place of some of its numbers. */
function replaced(
  text: string,
  numbers: readonly INumber[],
  by: readonly string[]
): string {
  return numbers.reduceRight(
    (shown, { start, end }, i) =>
      shown.slice(0, start) + by[i] + shown.slice(end),
    text
  );
}

/**
 * Merge bars with the same name, count and values. Times and rate of the merged one are the lowest rank's; values that
 * differ are ranges, since each rank has its own loss. Bars with other values, such as "loss=nan", stay apart.
 */
export function mergeBars<T extends IRow>(rows: readonly T[]): T[] {
  const merged = new Map<string, T[]>();
  rows.forEach((row, i) => {
    const bar = parseBar(row.text);
    const key = bar
      ? [
          bar.label,
          formatShare(bar.share),
          bar.count || bar.rest,
          wordsOf(row.text)
        ].join('\n')
      : `row ${i}`;
    merged.set(key, [...(merged.get(key) ?? []), row]);
  });
  return [...merged.values()].map(some => {
    const sorted = [...some].sort((a, b) => a.ranks[0] - b.ranks[0]);
    const [first] = sorted;
    const ranks = sorted.flatMap(row => row.ranks).sort((a, b) => a - b);
    return some.length > 1
      ? { ...first, ranks, text: withRanges(sorted.map(row => row.text)) }
      : { ...first, ranks };
  });
}

/** The first text, with the lowest and the highest of all values that differ. */
function withRanges(texts: readonly string[]): string {
  const all = texts.map(text => valuesOf(text).numbers);
  const ranges = all[0].map((number, i) => {
    const sorted = all.map(each => each[i]).sort((a, b) => a.value - b.value);
    const [low, high] = [sorted[0].text, sorted[sorted.length - 1].text];
    return low === high ? number.text : `${low}…${high}`;
  });
  return replaced(texts[0], all[0], ranges);
}
