import { Cluster, Verdict } from '../tokens';

/** Kinds of verdict that somebody has to act on: nothing goes on by itself. */
const ALARMS: readonly Verdict['kind'][] = ['stuck', 'mismatch'];

/** What keeps ranks from going on; null where nothing does. */
export function alarmOf(metrics: Cluster['metrics']): Verdict | null {
  return metrics.verdicts.find(v => ALARMS.includes(v.kind)) ?? null;
}
