/** The name of a keyword argument: after "(" or ",", and before a single "=". */
const KEYWORD = /[(,]\s*([\p{ID_Start}_][\p{ID_Continue}]*)\s*=(?!=)/gu;
const CALL = /\b(?:dt|dtrain_lab)\.log\s*\(/g;
/** Arguments of `dt.log` itself, as in `dtrain_lab/sweeps/objective.py`. */
export const OWN: readonly string[] = ['step', 'average'];

/**
 * Names that a notebook passes to `dt.log`, in order: possible objectives.
 *
 * @param sources - texts of its code cells
 */
export function objectivesIn(sources: readonly string[]): string[] {
  const names = new Set<string>();
  for (const source of sources) {
    for (const { index } of source.matchAll(CALL)) {
      for (const [, name] of argumentsAt(source, index).matchAll(KEYWORD)) {
        if (!OWN.includes(name)) {
          names.add(name);
        }
      }
    }
  }
  return [...names];
}

/** "(…)" of a call, without the contents of inner brackets. */
function argumentsAt(source: string, from: number): string {
  const begin = source.indexOf('(', from);
  let depth = 0;
  let kept = '';
  for (let at = begin; at < source.length; at++) {
    const letter = source[at];
    if ('([{'.includes(letter)) {
      depth++;
    }
    if (depth === 1) {
      kept += letter;
    }
    if (')]}'.includes(letter) && --depth === 0) {
      break;
    }
  }
  return kept;
}
