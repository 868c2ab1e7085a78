import { INumber } from './numbers';

/**
 * Indices of the numbers in which lines differ, if they can be folded: it is one number, or each line has the
 * same integer at all of these positions, as in "from 0 step 1 0". Null if they can't be folded.
 *
 * @param before - indices in which the lines differ without the last one
 * @param run - the lines without the last one
 * @param last - numbers of the last line
 */
export function differing(
  before: readonly number[],
  run: readonly { numbers: readonly INumber[] }[],
  last: readonly INumber[]
): readonly number[] | null {
  const [first] = run;
  if (!mightFold(first.numbers, last)) {
    return null;
  }
  const now = last.flatMap((n, i) =>
    n.text !== first.numbers[i].text || before.includes(i) ? [i] : []
  );
  const same = (numbers: readonly INumber[]): boolean =>
    now.every(
      i => numbers[i].whole && numbers[i].text === numbers[now[0]].text
    );
  if (now.length < 2) {
    return now;
  }
  const grows = now.length > before.length;
  return same(last) && (!grows || run.every(r => same(r.numbers))) ? now : null;
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
