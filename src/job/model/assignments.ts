/** Parameters as typed: lines of "name = value", as in the notebook's tagged cell. */

/** A parameter as typed; `value` is JSON, a Python value, or plain text. */
export interface IParameter {
  name: string;
  value: string;
}

/** A line that is not an assignment. */
export class NoAssignment extends Error {
  constructor(readonly line: string) {
    super(line);
  }
}

/** A valid Python name, in any alphabet. */
export const NAME = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;

const ASSIGNS = /^[\p{ID_Start}_][\p{ID_Continue}]*\s*(:[^=]+)?=[^=]/u;
const ANNOTATION = /^([\p{ID_Start}_][\p{ID_Continue}]*)\s*:[^=]+=/u;
const NUMBER = /^[+-]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(e[+-]?\d+)?$/i;

/**
 * Parse lines of "name = value".
 *
 * @throws NoAssignment
 */
export function linesOf(text: string): IParameter[] {
  const parameters: IParameter[] = [];
  for (const line of text.split('\n')) {
    const bare = line.replace(/\s#.*$/, '').trim();
    if (!bare || bare.startsWith('#')) {
      continue;
    }
    const at = bare.indexOf('=');
    if (at < 1) {
      throw new NoAssignment(bare);
    }
    const [name, value] = [bare.slice(0, at), bare.slice(at + 1)];
    parameters.push({ name: name.trim(), value: value.trim() });
  }
  return parameters;
}

/**
 * Parameters by name, without those with the same text as in the notebook.
 *
 * @throws NoAssignment
 */
export function parametersOf(
  text: string,
  defaults = ''
): Record<string, unknown> {
  const usual = new Map(linesOf(defaults).map(p => [p.name, p.value]));
  return Object.fromEntries(
    linesOf(text)
      .filter(({ name, value }) => usual.get(name) !== value)
      .map(({ name, value }) => [name, valueOf(value)])
  );
}

/** The text with a new value of one parameter; comments and other lines are unchanged. */
export function withValue(text: string, name: string, value: string): string {
  return text
    .split('\n')
    .map(line => {
      const at = line.indexOf('=');
      const comment = /\s+#.*$/.exec(line)?.[0] ?? '';
      return at > 0 && line.slice(0, at).trim() === name
        ? `${name} = ${value}${comment}`
        : line;
    })
    .join('\n');
}

/** The text without the lines of a parameter, which then has the notebook's value. */
export function withoutParameter(text: string, name: string): string {
  return text
    .split('\n')
    .filter(line => line.split('=', 1)[0].trim() !== name)
    .join('\n');
}

/** The notebook's assignments with the given values; additional parameters come last. */
export function withGiven(
  defaults: string,
  given: Readonly<Record<string, unknown>>
): string {
  const usual = new Set(linesOf(defaults).map(p => p.name));
  let text = defaults;
  for (const [name, value] of Object.entries(differing(defaults, given))) {
    if (usual.has(name)) {
      text = withValue(text, name, written(value));
    } else {
      text += `${text ? '\n' : ''}${name} = ${written(value)}`;
    }
  }
  return text;
}

/** The given values other than those of the notebook's assignments. */
export function differing(
  defaults: string,
  given: Readonly<Record<string, unknown>>
): Record<string, unknown> {
  const usual = new Map(linesOf(defaults).map(p => [p.name, p.value]));
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => {
      const usualValue = usual.get(name);
      return (
        usualValue === undefined || plain(valueOf(usualValue)) !== plain(value)
      );
    })
  );
}

/**
 * A cell with the given values: in place of its assignments of a literal, else below them, where they replace
 * the result of an expression.
 */
export function withAssigned(
  source: string,
  given: Readonly<Record<string, unknown>>
): string {
  const set = new Set<string>();
  const lines = source.split('\n').map(line => {
    const [, start, name, text, end = ''] = ONE_LINE.exec(line) ?? [];
    if (!name || !(name in given) || !isLiteral(text)) {
      return line;
    }
    set.add(name);
    return `${start}${pythonOf(given[name])}${end}`;
  });
  const left = Object.entries(given)
    .filter(([name]) => !set.has(name))
    .map(([name, value]) => `${name} = ${pythonOf(value)}`);
  return [...lines, ...left].join('\n');
}

/** Start, name, value and comment of an assignment. */
const ONE_LINE =
  /^(([\p{ID_Start}_][\p{ID_Continue}]*)(?:\s*:[^=]+)?\s*=\s*)([^=\s].*?)(\s+#.*)?$/u;

/** Whether a text is a whole value, not the beginning of one, and not an expression. */
function isLiteral(text: string): boolean {
  return typeof valueOf(text) !== 'string' || /^(['"])[^'"\\]*\1$/.test(text);
}

/** A value in Python's syntax. */
export function pythonOf(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(pythonOf).join(', ')}]`;
  }
  if (value && typeof value === 'object') {
    const items = Object.entries(value).map(
      ([key, item]) => `${JSON.stringify(key)}: ${pythonOf(item)}`
    );
    return `{${items.join(', ')}}`;
  }
  return written(value);
}

/** A value in Python's syntax; lists and objects as JSON. */
function written(value: unknown): string {
  switch (value) {
    case true:
      return 'True';
    case false:
      return 'False';
    case null:
      return 'None';
    default:
      return JSON.stringify(value);
  }
}

/**
 * Merge typed values with changed assignments of the notebook: parameters without another value follow the
 * notebook.
 *
 * @param before - the notebook's assignments from which the text started
 * @param now - the current assignments
 */
export function followed(text: string, before: string, now: string): string {
  try {
    const usual = new Map(linesOf(before).map(p => [p.name, p.value]));
    const names = new Set(linesOf(now).map(p => p.name));
    let result = now;
    for (const { name, value } of linesOf(text)) {
      if (usual.get(name) === value) {
        continue;
      }
      result = names.has(name)
        ? withValue(result, name, value)
        : `${result}${result ? '\n' : ''}${name} = ${value}`;
    }
    return result;
  } catch (error) {
    if (error instanceof NoAssignment) {
      return text; // it stays as typed, with its error beside it
    }
    throw error;
  }
}

/** A value for comparison: 1.0 and 1 are equal, as they are once sent. */
export function plain(value: unknown): string {
  return JSON.stringify(JSON.parse(JSON.stringify(value)));
}

/** The value to send for a text: JSON, a Python value, or the text itself; for arithmetic, use `numberIn`. */
export function valueOf(text: string): unknown {
  const python: Record<string, unknown> = {
    True: true,
    False: false,
    None: null
  };
  if (text in python) {
    return python[text];
  }
  const quoted = /^'([^'\\]*)'$/.exec(text);
  if (quoted) {
    return quoted[1];
  }
  if (NUMBER.test(text)) {
    const number = numberIn(text);
    return number === null ? text : sent(number, text);
  }
  try {
    return JSON.parse(text);
  } catch {
    // a bare word is a text
    return text;
  }
}

/** The number in a text; null if it is not a number that JSON can represent. */
export function numberIn(text: string): number | null {
  const value = NUMBER.test(text) ? Number(text.replace(/_/g, '')) : NaN;
  return Number.isFinite(value) ? value : null;
}

/**
 * A number to send: one with a decimal point keeps it, if the browser can serialize it as an object that is
 * not a number here.
 */
function sent(value: number, text: string): unknown {
  const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
  return rawJSON && Number.isInteger(value) && /[.e]/i.test(text)
    ? rawJSON(value.toFixed(1))
    : value;
}

/** Error of a value, compared with the notebook's. */
export type ValueFault =
  'empty' | 'no number' | 'number expected' | 'number in quotes' | null;

export function faultOf(text: string, usual: string | undefined): ValueFault {
  if (!text) {
    return 'empty';
  }
  const value = valueOf(text);
  // an expression of the notebook, such as 2 ** 3, is unchanged
  if (typeof value !== 'string' || text === usual) {
    return null;
  }
  if (usual !== undefined && NUMBER.test(usual)) {
    return numberIn(value) === null ? 'number expected' : 'number in quotes';
  }
  return /^[+-]?\.?\d/.test(text) ? 'no number' : null;
}

/** Simple assignments of the cell tagged `parameters`, without type annotations. */
export function defaultsOf(source: string): string {
  return source
    .split('\n')
    .filter(line => ASSIGNS.test(line))
    .map(line => line.replace(ANNOTATION, '$1 ='))
    .join('\n');
}
