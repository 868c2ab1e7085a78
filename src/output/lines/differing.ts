import { INumber } from './numbers';

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
