import {
  IParameter,
  NAME,
  numberIn,
  plain,
  valueOf
} from '../../job/model/assignments';
import { OWN } from './objectives';

/** Kind of a parameter's variation; `fixed`: it is the same in all trials. */
export type VaryKind = 'fixed' | 'list' | 'loguniform' | 'uniform' | 'randint';

/** Kinds that draw numbers. */
const RANGES: readonly VaryKind[] = ['loguniform', 'uniform', 'randint'];

/**
 * How a parameter can vary: a string or boolean only by a list, and a list or dictionary not at all. What an
 * expression results in is not known here: the server's check tells.
 *
 * @param value - what the notebook assigns, in Python
 */
export function kindsOf(value: string): readonly VaryKind[] {
  if (/^[[{]/.test(value)) {
    return ['fixed'];
  }
  const text =
    /^[rbuf]{0,2}['"]/i.test(value) || typeof valueOf(value) === 'boolean';
  return text ? ['fixed', 'list'] : ['fixed', 'list', ...RANGES];
}

/** Variation of a parameter, as typed. */
export interface IVary {
  kind: VaryKind;
  /** Values of a list, separated by commas. */
  values: string;
  low: string;
  high: string;
}

/** Errors of a parameter's range or list. */
export type VaryFault =
  | 'no values'
  | 'mixed types'
  | 'twice'
  | 'no number'
  | 'not whole'
  | 'not above 0'
  | 'no room';

/** Proposed variation of a parameter, around its default. */
export function around(value: string, kind: VaryKind = 'fixed'): IVary {
  if (typeof valueOf(value) === 'boolean') {
    return { kind, values: 'True, False', low: '', high: '' };
  }
  const number = numberIn(value);
  if (!number) {
    return { kind, values: value, low: '0', high: '1' };
  }
  const times = (factor: number): string => short(number * factor);
  if (kind === 'randint' || isWhole(value)) {
    const ends = [Math.trunc(number / 2), Math.round(number * 2)];
    const least = number > 0 ? Math.max(1, ends[0]) : Math.min(...ends);
    const most = Math.max(least + 1, ...ends);
    const [low, high] = [String(least), String(most)];
    const values = [...new Set([low, value, high])].join(', ');
    return { kind, values, low, high };
  }
  // only a logarithmic range covers two decades evenly
  const far = kind === 'uniform' ? 2 : 10;
  const [low, high] = number > 0 ? [1 / far, far] : [far, 1 / far];
  const values = [times(low), value, times(high)].join(', ');
  return { kind, values, low: times(low), high: times(high) };
}

/**
 * A variation as another kind: a range that nobody edited is proposed anew, as the kind suggests.
 *
 * @param value - what the notebook assigns
 */
export function changedKind(vary: IVary, kind: VaryKind, value: string): IVary {
  const offered = around(value, vary.kind);
  const untouched =
    !vary.low || (vary.low === offered.low && vary.high === offered.high);
  const fresh =
    untouched || kind === 'randint' || vary.kind === 'randint'
      ? around(value, kind)
      : vary;
  return { ...fresh, values: vary.values || fresh.values, kind };
}

/** A number in its shortest form: 0.001, 1e-5. */
function short(value: number): string {
  const rounded = Number(value.toPrecision(6));
  return Math.abs(rounded) < 1e-3
    ? rounded.toExponential().replace('e+', 'e')
    : String(rounded);
}

/** Whether a text is an integer. */
function isWhole(text: string): boolean {
  return /^[+-]?\d[\d_]*$/.test(text.trim());
}

/** Values of a typed list; commas in quotes and brackets don't separate them. */
export function valuesIn(text: string): string[] {
  const parts =
    text.match(
      /\s*(?:\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|'[^']*'|"[^"]*")\s*(?=,|$)|[^,]+/g
    ) ?? [];
  return parts.map(part => part.trim()).filter(part => part);
}

/** Error of a range or a list; null for none. */
export function varyFault(vary: IVary): VaryFault | null {
  if (vary.kind === 'fixed') {
    return null;
  }
  if (vary.kind === 'list') {
    const values = valuesIn(vary.values).map(valueOf);
    const kinds = new Set(
      values.filter(value => value !== null).map(value => kindOf(value))
    );
    const same = new Set(values.map(plain));
    return values.length === 0
      ? 'no values'
      : kinds.size > 1
        ? 'mixed types'
        : same.size < values.length
          ? 'twice'
          : null;
  }
  const ends = [vary.low, vary.high].map(end => end.trim().replace(/_/g, ''));
  const [low, high] = ends.map(Number);
  if (ends.some(end => !end) || !Number.isFinite(low + high)) {
    return 'no number';
  }
  if (vary.kind === 'randint' && !(isWhole(ends[0]) && isWhole(ends[1]))) {
    return 'not whole';
  }
  return vary.kind === 'loguniform' && low <= 0
    ? 'not above 0'
    : low < high
      ? null
      : 'no room';
}

/** A value of another type than the others in its list. */
export interface IOdd {
  value: string;
  /** Whether the others are strings; else they are numbers. */
  strings?: true;
}

/**
 * The first value of a list of another type than the notebook's own: not a string where that is one, else not
 * a number where others are; null if there is none.
 *
 * @param own - what the notebook assigns; empty if that is unknown
 */
export function oddIn(list: string, own = ''): IOdd | null {
  const values = valuesIn(list);
  const isText = (text: string): boolean => typeof valueOf(text) === 'string';
  if (own && isText(own)) {
    const value = values.find(text => !isText(text));
    return value === undefined ? null : { value, strings: true };
  }
  const isNumber = (text: string): boolean =>
    kindOf(valueOf(text)) === 'number';
  const value = values.some(isNumber) ? values.find(isText) : undefined;
  return value === undefined ? null : { value };
}

/** Key by which the server distinguishes values; a number that keeps its decimal point is an object here. */
function kindOf(value: unknown): string {
  return typeof value === 'object' ? 'number' : typeof value;
}

/** The search space for the server. */
export function spaceOf(
  vary: Readonly<Record<string, IVary>>,
  parameters: readonly IParameter[]
): Record<string, unknown> {
  const space: Record<string, unknown> = {};
  for (const { name } of parameters) {
    const choice = vary[name];
    if (choice?.kind === 'list') {
      space[name] = valuesIn(choice.values).map(valueOf);
    } else if (choice && choice.kind !== 'fixed') {
      space[name] =
        `${choice.kind}(${choice.low.trim()}, ${choice.high.trim()})`;
    }
  }
  return space;
}

/** Number of combinations; null if a range has infinitely many values. */
export function combinations(
  vary: Readonly<Record<string, IVary>>
): number | null {
  let count: number | null = 1;
  for (const choice of Object.values(vary)) {
    if (choice.kind === 'uniform' || choice.kind === 'loguniform') {
      count = null;
    } else if (count !== null && choice.kind === 'list') {
      count *= valuesIn(choice.values).length;
    } else if (count !== null && choice.kind === 'randint') {
      count *= Math.max(0, Number(choice.high) - Number(choice.low) + 1);
    }
  }
  return count;
}

/** Python's keywords. */
const KEYWORDS: readonly string[] =
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' '
  );

/** Whether it is a valid keyword for `dt.log`. */
export function isName(text: string): boolean {
  const name = text.trim();
  return NAME.test(name) && !OWN.includes(name) && !KEYWORDS.includes(name);
}
