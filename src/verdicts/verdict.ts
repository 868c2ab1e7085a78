import { Cluster, Verdict } from '../tokens';

/**
 * Ranks that become slow now, according to the head; each episode once.
 *
 * @param marked - known episodes; updated here.
 */
export function slowedNow(
  { metrics }: Pick<Cluster, 'metrics'>,
  marked: Set<string>
): number[] {
  const begun = metrics.verdicts.filter(
    v => v.kind === 'slow' && !marked.has(v.id)
  );
  begun.forEach(v => marked.add(v.id));
  return begun.flatMap(v => v.ranks);
}

/** Whether ranks are stuck, whether or not the reason is known. */
export function isHang(verdict: Verdict): boolean {
  return verdict.alarm || verdict.code === 'no_progress';
}

/** The verdict that keeps ranks from continuing; null if none does. */
export function alarmOf(metrics: Cluster['metrics']): Verdict | null {
  return metrics.verdicts.find(v => v.alarm) ?? null;
}

/** What holds ranks up without an alarm: they wait for a slow rank, or for data; null if nothing does. */
export function holdUpOf(metrics: Cluster['metrics']): Verdict | null {
  return (
    metrics.verdicts.find(
      v => ['slow', 'input_bound'].includes(v.kind) || isHang(v)
    ) ?? null
  );
}
