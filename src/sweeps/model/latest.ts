import { Sweep } from '../../tokens';

/** A sweep with its importance as last known, where it is of a list, which has none. */
export function withImportance(now: Sweep, before: Sweep | null): Sweep {
  return { ...now, importance: now.importance ?? before?.importance ?? null };
}

/** Whether nothing has happened: only how long trials have run differs. */
export function isSame(now: Sweep, before: Sweep | null): boolean {
  const seen = (sweep: Sweep | null): string =>
    JSON.stringify([
      sweep?.state,
      sweep?.reason?.code,
      sweep?.trials.map(t => [t.state, t.job, t.step, t.value])
    ]);
  return seen(now) === seen(before);
}
