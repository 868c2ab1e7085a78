/** What is shown where nothing is known. */
export const UNKNOWN = '–';

const plain = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const oneDecimal = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1
});

/** A rate: one decimal below 100, whole to 9,999, then 212k, 1.24M. */
export function formatRate(value: number | null): string {
  if (value === null) {
    return UNKNOWN;
  }
  if (value >= 999_500) {
    return `${(value / 1e6).toPrecision(3)}M`;
  }
  if (value >= 9_999.5) {
    return `${plain.format(value / 1e3)}k`;
  }
  return value < 99.95 ? oneDecimal.format(value) : plain.format(value);
}

/** A duration in seconds: 199 ms, 3.8 s, 41 s, 6 min 12 s, 2 h 14 min. */
export function formatTime(seconds: number | null): string {
  if (seconds === null) {
    return UNKNOWN;
  }
  if (seconds < 0.0995) {
    return `${(seconds * 1e3).toPrecision(2)} ms`;
  }
  if (seconds < 0.9995) {
    return `${plain.format(seconds * 1e3)} ms`;
  }
  if (seconds < 9.95) {
    return `${oneDecimal.format(seconds)} s`;
  }
  if (seconds < 59.5) {
    return `${plain.format(seconds)} s`;
  }
  const whole = Math.round(seconds);
  if (whole < 3600) {
    return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  }
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** How long something has lasted, in whole seconds. */
export function formatSpan(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  return whole < 60 ? `${whole} s` : formatTime(whole);
}

/** Bytes as GiB, one decimal, without the unit. */
export function formatGiB(bytes: number | null): string {
  return bytes === null ? UNKNOWN : oneDecimal.format(bytes / 2 ** 30);
}

/** Bytes a second as MB/s, without the unit: 0.3, 118, 2,400. */
export function formatMegabytes(bytes: number | null): string {
  return bytes === null ? UNKNOWN : formatRate(bytes / 1e6);
}

/** A share 0 to 1 as "23 %". */
export function formatShare(share: number | null): string {
  return share === null ? UNKNOWN : `${Math.round(share * 100)} %`;
}

/** Ranks as short as can be: [0, 2, 3, 4] is "0, 2–4". */
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
