import { lastSteps } from '../../metrics/curve';
import { median, networkOf, ownTimes, unsureOf } from '../../metrics/ownTime';
import { Cluster, IPoint, Metrics, Point } from '../../tokens';
import { slowedNow } from '../../verdicts/verdict';

/** Points kept per cluster, an hour of them; fewer if each has the times of more than 64 ranks. */
export const HISTORY = 2400;
const HISTORY_LARGE = 600;
const HOUR_MS = 3_600_000;

/** Recent metrics of clusters, oldest first. */
export class MetricsHistory {
  /** Return the points of a cluster; empty if there are none. */
  of(id: string): readonly IPoint[] {
    return this._points.get(id) ?? [];
  }

  /** Is this cluster known? */
  has(id: string): boolean {
    return this._points.has(id);
  }

  /** Add the current metrics of a cluster. */
  add(cluster: Cluster): void {
    const points = this._points.get(cluster.id) ?? [];
    const marked = this._marked.get(cluster.id) ?? new Set<string>();
    this._marked.set(cluster.id, marked);
    points.push(pointOf(cluster, marked));
    const most = cluster.ranks.length > 64 ? HISTORY_LARGE : HISTORY;
    this._points.set(
      cluster.id,
      points.length > most ? thinned(points, most) : points
    );
  }

  /** Prepend points from before the page was opened. */
  prepend(id: string, past: readonly Point[]): void {
    const points = this._points.get(id);
    const first = points?.[0];
    if (!points || !first) {
      return;
    }
    const before = past
      .filter(p => p.at * 1000 < first.at)
      .map((p, i, all) => pastPoint(p, all[i - 1]));
    // a rank that was slow before the page was opened has its mark there
    const last = before[before.length - 1]?.slow ?? [];
    first.slowed = first.slowed.filter(rank => !last.includes(rank));
    points.unshift(...before);
  }

  /** Forget clusters that are gone. */
  prune(alive: ReadonlySet<string>): void {
    for (const id of this._points.keys()) {
      if (!alive.has(id)) {
        this._points.delete(id);
        this._marked.delete(id);
      }
    }
  }

  /** Cluster → the episodes of slow ranks that are marked. */
  private _marked = new Map<string, Set<string>>();
  private _points = new Map<string, IPoint[]>();
}

/**
 * Return at most `most` points of the last hour: all of the latest quarter, and as many older ones as fit.
 * Points that are marked in the charts are kept, and so are the last steps, whose curve the panel has.
 */
export function thinned(points: IPoint[], most: number): IPoint[] {
  const oldest = points[points.length - 1].at - HOUR_MS;
  const recent = points.length - Math.floor(most / 4);
  const apart = HOUR_MS / (most * 0.7);
  const [first, end] = lastSteps(points) ?? [0, 0];
  let last = -Infinity;
  const thin = points.filter((point, i) => {
    const marked =
      point.slowed.length > 0 ||
      newlyLost(point, points[i - 1]).length > 0 ||
      (i > 0 && point.generation !== points[i - 1].generation);
    const drawn = i >= first && i < end;
    const stays =
      drawn ||
      (point.at >= oldest &&
        (i >= recent || marked || point.at - last >= apart));
    if (stays) {
      last = point.at;
    }
    return stays;
  });
  const kept = thin.slice(-most);
  const earlier = points.slice(first, end).filter(p => p.at < kept[0].at);
  return [...earlier, ...kept];
}

/** Ranks that were lost since the point before; none if that is unknown. */
export function newlyLost(
  { lost }: IPoint,
  before: IPoint | undefined
): number[] {
  const earlier = before?.lost;
  return earlier ? (lost ?? []).filter(rank => !earlier.includes(rank)) : [];
}

/** Returns the value if it is a number: NaN and infinity are sent as text. */
export function numbers(
  values: Record<string, unknown>
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number'
    )
  );
}

function pastPoint(point: Point, before: Point | undefined): IPoint {
  // a head of an earlier version sends none
  const own = point.own_s ?? [];
  const slow = point.slow ?? null;
  return {
    ...metricsOf(point),
    at: (point.at as number) * 1000,
    generation: point.generation ?? 0,
    lost: point.lost ?? null,
    own: Float32Array.from(own, seconds => seconds ?? NaN),
    middle: median(own.filter(seconds => seconds !== null)),
    slowed: (slow ?? []).filter(rank => !before?.slow?.includes(rank)),
    slow,
    networkMiddle: null
  };
}

function pointOf(cluster: Cluster, marked: Set<string>): IPoint {
  const { own, middle } = ownTimes(cluster.ranks);
  const traffic = cluster.nodes.map(networkOf).filter(n => n !== null);
  return {
    ...metricsOf(cluster.metrics),
    at: Date.now(),
    generation: cluster.world.generation,
    lost: lostOf(cluster),
    own: new Float32Array(own),
    middle,
    slowed: slowedNow(cluster, marked),
    slow: cluster.ranks.filter(r => r.slow).map(r => r.rank),
    networkMiddle: traffic.length > 1 ? median(traffic) : null
  };
}

function lostOf({ lost }: Cluster): number[] {
  return lost.map(({ rank }) => rank);
}

/** What a point has of the metrics of a world, now or in its history; a field may be missing in an earlier version's. */
function metricsOf(
  metrics: Partial<Metrics> | Point
): Pick<
  IPoint,
  | 'samples'
  | 'overhead'
  | 'overheadError'
  | 'waiting'
  | 'unsure'
  | 'memory'
  | 'network'
  | 'values'
> {
  const { step_s = null, comm_overhead = null, wait_s = null } = metrics;
  return {
    samples: metrics.samples_per_s ?? null,
    overhead: comm_overhead,
    overheadError:
      'comm_bound' in metrics && metrics.comm_bound === 'lower'
        ? null
        : (metrics.comm_overhead_error ?? null),
    waiting: step_s && wait_s !== null ? wait_s / step_s : null,
    unsure: unsureOf(step_s, comm_overhead, metrics.comm_overhead_error),
    memory: metrics.memory_bytes ?? null,
    network: metrics.network_bytes_per_s ?? null,
    values: numbers(metrics.values ?? {})
  };
}
