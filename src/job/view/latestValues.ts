import { JobMetrics } from '../../tokens';

/**
 * The latest values of `dt.log`, and the history up to them. Frames bring values more often than the history is read,
 * and either may be ahead: facts and headings of the charts get the same ones, the newer.
 *
 * @param live - values in the job's own metrics, among them their `step`
 * @param metrics - the history that was read last
 * @param now - ms
 */
export function withLatest(
  live: Record<string, unknown>,
  metrics: JobMetrics | null,
  now: number
): { values: Record<string, unknown>; shown: JobMetrics | null } {
  const logged = metrics?.logged ?? [];
  if (!metrics || logged.length === 0) {
    return { values: live, shown: metrics };
  }
  const last = logged[logged.length - 1];
  const latest: Record<string, unknown> = {};
  for (const call of logged) {
    Object.assign(latest, call.values);
  }
  const { step, ...named } = live;
  if (typeof step !== 'number' || step <= last.step) {
    return { values: { ...live, ...latest, step: last.step }, shown: metrics };
  }
  const values: Record<string, number | string> = {};
  for (const [name, value] of Object.entries(named)) {
    // a value that is as it was may not have been logged again
    const isNew = value !== latest[name];
    if (isNew && (typeof value === 'number' || typeof value === 'string')) {
      values[name] = value;
    }
  }
  const at = Math.max(now / 1000, last.at);
  return {
    values: { ...latest, ...live },
    shown: { ...metrics, logged: [...logged, { at, step, values }] }
  };
}
