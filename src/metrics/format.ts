import { TranslationBundle } from '@jupyterlab/translation';

import { TIMES_GAIN } from '../api/thresholds';

/** Placeholder for unknown values. */
export const UNKNOWN = '–';

const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const oneDecimal = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1
});

const UNIT =
  /(\d[kM]?|±) (?=(?:%|ms|s|min|h|B|[KMGT]i?B|samples\/s|tokens\/s)(?!\w)|(?<=± )\d)/g;

/** Non-breaking space between a number and its unit. */
export const NBSP = '\u00a0';

/** An error after its value. */
const ERROR = /(?<=\S) (?=±)/g;

/** English words that belong to the number after them. */
const NUMBERED = /(^|[^\p{L}])(cell|line|no\.) (?=[\d[])/gu;

/** The dash in a range of ranks: "2–3". */
const SPAN = /(?<=\d)–(?=\d)/g;

/**
 * A text that does not wrap between a number and its unit or name, as in "65 ms", "6 min 12 s", "28 % ± 10",
 * "cell [7]", "line 6", nor in a range of ranks: "2–3".
 */
export function unbroken(text: string): string {
  return text
    .replace(UNIT, `$1${NBSP}`)
    .replace(NUMBERED, `$1$2${NBSP}`)
    .replace(ERROR, NBSP)
    .replace(SPAN, '\u2060–\u2060');
}

/** A rate: one decimal below 100, whole to 9,999, then 212k, 1.24M. */
export function formatRate(value: number | null): string {
  if (value === null) {
    return UNKNOWN;
  }
  if (value >= 999_500) {
    return `${formatDigits(value / 1e6, 3)}M`;
  }
  if (value >= 9_999.5) {
    return `${plain.format(value / 1e3)}k`;
  }
  return value < 99.95 ? oneDecimal.format(value) : plain.format(value);
}

const formatters = new Map<string, Intl.NumberFormat>();

/** A formatter, made once: that takes a hundred times as long as formatting a number. */
function formatterOf(
  key: string,
  options: Intl.NumberFormatOptions
): Intl.NumberFormat {
  const cached = formatters.get(key);
  if (cached) {
    return cached;
  }
  const formatter = new Intl.NumberFormat(undefined, options);
  formatters.set(key, formatter);
  return formatter;
}

/** Format a number with a fixed number of decimals in the user's locale: 1.80. */
export function formatFixed(value: number, digits: number): string {
  return formatterOf(`fixed ${digits}`, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits
  }).format(value);
}

/**
 * Format a number with a fixed number of significant digits in the user's locale: 1.20, 0.0345.
 *
 * @param zeros whether trailing zeros are shown
 */
export function formatDigits(
  value: number,
  digits: number,
  zeros = true
): string {
  return formatterOf(`${digits} ${zeros}`, {
    minimumSignificantDigits: zeros ? digits : 1,
    maximumSignificantDigits: digits
  }).format(value);
}

/** An integer in the user's locale: 8, 1,024. */
export function formatCount(count: number): string {
  return plain.format(count);
}

/** A duration in seconds: 199 ms, 3.8 s, 41 s, 6 min 12 s, 2 h 14 min. */
export function formatTime(seconds: number | null): string {
  if (seconds === null) {
    return UNKNOWN;
  }
  if (seconds < 0.0995) {
    return `${formatDigits(seconds * 1e3, 2)}${NBSP}ms`;
  }
  if (seconds < 0.9995) {
    return `${plain.format(seconds * 1e3)}${NBSP}ms`;
  }
  if (seconds < 9.95) {
    return `${oneDecimal.format(seconds)}${NBSP}s`;
  }
  if (seconds < 59.5) {
    return `${plain.format(seconds)}${NBSP}s`;
  }
  const whole = Math.round(seconds);
  if (whole < 3600) {
    return both(Math.floor(whole / 60), 'min', whole % 60, 's');
  }
  const minutes = Math.floor((whole % 3600) / 60);
  return both(Math.floor(whole / 3600), 'h', minutes, 'min');
}

/** "6 min 12 s", and "6 min" for whole minutes. */
function both(
  large: number,
  unit: string,
  small: number,
  less: string
): string {
  const whole = `${large}${NBSP}${unit}`;
  return small ? `${whole} ${small}${NBSP}${less}` : whole;
}

/** How long something has lasted, in whole seconds. */
export function formatSpan(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return whole < 60 ? `${whole}${NBSP}s` : formatTime(whole);
}

/**
 * For how long a job, trial or sweep has run: once it has ended as in the sentences of its state ("Done after 9.5 s."),
 * before in whole seconds, because the time grows while it is displayed.
 */
export function formatRun(seconds: number | null, ended: boolean): string {
  if (seconds === null) {
    return UNKNOWN;
  }
  if (!ended) {
    return formatSpan(seconds);
  }
  return seconds < 1
    ? `${oneDecimal.format(Math.max(0, seconds))}${NBSP}s`
    : formatTime(seconds);
}

/** Bytes as GiB, one decimal, without the unit. */
export function formatGiB(bytes: number | null): string {
  return bytes === null ? UNKNOWN : oneDecimal.format(bytes / 2 ** 30);
}

/** Bytes of a tensor: 512 B, 4 KiB, 25 MiB, 1.3 GiB. */
export function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const number = unit && value < 9.95 ? oneDecimal : plain;
  return `${number.format(value)}${NBSP}${units[unit]}`;
}

/** Bytes per second as MB/s, without the unit: 0.3, 118, 2,400. */
export function formatMegabytes(bytes: number | null): string {
  return bytes === null ? UNKNOWN : formatRate(bytes / 1e6);
}

/** A share 0 to 1 as "23 %". */
export function formatShare(share: number | null): string {
  return share === null ? UNKNOWN : `${Math.round(share * 100)}${NBSP}%`;
}

/**
 * Shares of one whole as "23 %", rounded by largest remainder: they add up to 100 % where the shares add up to 1.
 */
export function formatShares(shares: readonly number[]): string[] {
  const exact = shares.map(share => share * 100);
  const whole = exact.map(Math.floor);
  const sum = Math.round(exact.reduce((all, share) => all + share, 0));
  const left = sum - whole.reduce((all, share) => all + share, 0);
  const order = exact
    .map((share, i) => ({ i, rest: share - whole[i] }))
    .sort((a, b) => b.rest - a.rest);
  order.slice(0, left).forEach(({ i }) => (whole[i] += 1));
  return whole.map(share => `${share}${NBSP}%`);
}

/** Relative excess of a duration: "+15 %", from twice as long on "2.3×", "115×". */
export function formatLonger(over: number): string {
  if (over + 1 < TIMES_GAIN) {
    return `+${formatShare(over)}`;
  }
  const times = over + 1;
  return `${times < 9.95 ? formatDigits(times, 2) : plain.format(times)}×`;
}

/** Compact list of ranks: [0, 2, 3, 4] is "0, 2–4". */
export function formatRanks(ranks: readonly number[]): string {
  const spans: [number, number][] = [];
  for (const rank of [...ranks].sort((a, b) => a - b)) {
    const last = spans[spans.length - 1];
    if (last && rank === last[1] + 1) {
      last[1] = rank;
    } else {
      spans.push([rank, rank]);
    }
  }
  return spans.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(', ');
}

/** A list for a sentence: "a", "a and b", "a, b and c". */
export function listed(
  parts: readonly string[],
  trans: TranslationBundle
): string {
  return parts.length < 2
    ? parts.join('')
    : trans.__('%1 and %2', parts.slice(0, -1).join(', '), parts.at(-1));
}

/** An error in whole per cent; a small one is not rounded to 0. */
export function errorPercent(error: number): number {
  return Math.max(1, Math.round(error * 100));
}

/**
 * Format a number of the user's code with at most a number of digits: 0.2134, 1.2e-5, 4,096.
 *
 * @param zeros whether trailing zeros are shown, so that a number keeps its width while it changes: 2.30, 1.20e-5
 */
export function formatValue(value: unknown, digits = 4, zeros = false): string {
  if (value === null || value === undefined) {
    return UNKNOWN;
  }
  if (typeof value !== 'number') {
    return typeof value === 'string' ? value : JSON.stringify(value);
  }
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const text = value.toExponential(digits - 1).replace('e+', 'e');
    return zeros ? text : text.replace(/\.?0+e/, 'e');
  }
  return formatDigits(value, digits, zeros);
}

const minutes = new Intl.DateTimeFormat(undefined, {
  hour: 'numeric',
  minute: '2-digit'
});
const wholeSeconds = new Intl.DateTimeFormat(undefined, {
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit'
});

/** A time of day in the user's locale, the same everywhere: "7:57 PM", "19:57". */
export function formatClock(at: Date | number, seconds = false): string {
  return Number.isNaN(Number(at))
    ? UNKNOWN
    : (seconds ? wholeSeconds : minutes).format(at).replace(/\s/g, NBSP);
}

/** Kept, as each takes longer to make than a row of a list to draw. */
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** Seconds of each unit of time, the longest first. */
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['week', 7 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1]
];

/** How long ago a time was: "5 minutes ago", "yesterday". */
export function formatAgo(at: Date, now = Date.now()): string {
  const seconds = (now - at.getTime()) / 1000;
  const [unit, length] =
    UNITS.find(([, each]) => seconds >= each) ?? UNITS[UNITS.length - 1];
  return relative.format(-Math.max(0, Math.floor(seconds / length)), unit);
}
