import { JobMetrics } from '../../tokens';

/** A call of `dt.log`. */
type ICall = JobMetrics['logged'][number];

/** Names of what was logged, in the order of their first values. */
export function namesIn(logged: readonly ICall[]): string[] {
  return [...new Set(logged.flatMap(call => Object.keys(call.values)))];
}

/** The values of a name at the times, ms, at which they were logged; null for one that is not finite. */
export function valuesOf(
  logged: readonly ICall[],
  name: string
): { times: number[]; values: (number | null)[] } {
  const calls = logged.filter(call => name in call.values);
  return {
    times: calls.map(call => call.at * 1000),
    values: calls.map(({ values }) => {
      const value = values[name];
      return typeof value === 'number' ? value : null;
    })
  };
}
