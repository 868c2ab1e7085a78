/** Characters of one stream that a page keeps; of more, the middle goes. The head's journal has it all. */
export const MOST_KEPT = 400_000;
/** Characters that are left on each side. */
const SIDE = 100_000;
const MARK =
  /^… (\d+) lines are left out here\. All of it: %distributed output\n/m;

/** A text without its middle, and how many lines that was; null where it is short enough. */
export function trimmed(text: string): string | null {
  if (text.length <= MOST_KEPT) {
    return null;
  }
  const mark = MARK.exec(text);
  const before = mark ? Number(mark[1]) : 0;
  const first = mark ? mark.index : text.lastIndexOf('\n', SIDE) + 1;
  const from = mark ? mark.index + mark[0].length : first;
  const last = text.indexOf('\n', text.length - SIDE) + 1;
  const cut = before + text.slice(from, last).split('\n').length - 1;
  return `${text.slice(0, first)}… ${cut} lines are left out here. All of it: %distributed output\n${text.slice(last)}`;
}

/** The text on both sides of what was left out, and how many lines that was. */
export function around(text: string): [string, number] {
  const mark = MARK.exec(text);
  return mark ? [text.replace(mark[0], ''), Number(mark[1])] : [text, 0];
}
