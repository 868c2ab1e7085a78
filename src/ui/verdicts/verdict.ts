import { Cluster, Verdict } from '../../tokens';

/** Kinds of verdict that somebody has to act on: nothing goes on by itself. */
const ALARMS: readonly Verdict['kind'][] = ['stuck', 'mismatch'];

/**
 * Ranks that become slow now, as the head says: each episode once.
 *
 * @param told - episodes that are known; brought up to date.
 */
export function slowedNow(
  { metrics }: Pick<Cluster, 'metrics'>,
  told: Set<string>
): number[] {
  const begun = metrics.verdicts.filter(
    v => v.kind === 'slow' && !told.has(v.id)
  );
  begun.forEach(v => told.add(v.id));
  return begun.flatMap(v => v.ranks);
}

/** Does a verdict say that nothing goes on by itself? */
export function isAlarm(verdict: Verdict): boolean {
  return ALARMS.includes(verdict.kind);
}

/** Do ranks stand, whether it is known why or not? */
export function isHang(verdict: Verdict): boolean {
  return isAlarm(verdict) || verdict.code === 'no_progress';
}

/** What keeps ranks from going on; null where nothing does. */
export function alarmOf(metrics: Cluster['metrics']): Verdict | null {
  return metrics.verdicts.find(isAlarm) ?? null;
}
