import { IPoint } from '../tokens';
import { median } from './ownTime';
import { boundOf, isVague } from './share';

/**
 * Points on each side that decide, with it, how a point is drawn. A single share and its error vary by a few percent:
 * near a limit, every other point would be left out.
 */
const AROUND = 5;

/** What the chart of communication draws: shares of the step, null where there is nothing to draw. */
export interface ICommunicationLines {
  /** Transfer and waiting, where their sum is known. */
  whole: (number | null)[];
  /** Transfer, there. */
  transfer: (number | null)[];
  /** The known end, where the sum is written as a bound. */
  bound: (number | null)[];
  /** What these bounds are; null without any. */
  bounds: 'most' | 'least' | 'both' | null;
  /** Their sum as estimated, also within a bound: for a line without a scale. */
  estimate: (number | null)[];
  /** Whether all shares are so uncertain that none is drawn. */
  vague: boolean;
}

/**
 * The lines of communication, as the heading writes the share: an estimate whose error leads below 0 or above
 * 100 % is a bound, and one that is too uncertain is left out.
 *
 * @param exact - whether errors don't count: the shares are lower bounds.
 */
export function communicationLines(
  points: readonly Pick<IPoint, 'overhead' | 'overheadError' | 'waiting'>[],
  exact: boolean
): ICommunicationLines {
  const found: ICommunicationLines = {
    whole: [],
    transfer: [],
    bound: [],
    bounds: null,
    estimate: [],
    vague: false
  };
  let unclear = 0;
  for (const [index, { overhead, waiting }] of points.entries()) {
    const typical = typicalPoint(points, index);
    const error = exact || overhead === null ? null : typical.error;
    const vague = isVague(error);
    const bound = !error || vague ? null : boundOf(typical.overhead, error);
    const drawn = vague || bound ? null : overhead;
    found.whole.push(drawn);
    found.estimate.push(vague ? null : overhead);
    found.transfer.push(drawn === null ? null : drawn - (waiting ?? 0));
    found.bound.push(
      bound === null || overhead === null || error === null
        ? null
        : 'most' in bound
          ? Math.min(1, overhead + error)
          : Math.max(0, overhead - error)
    );
    if (bound) {
      const kind = 'most' in bound ? 'most' : 'least';
      found.bounds = [null, kind].includes(found.bounds) ? kind : 'both';
    }
    unclear += vague ? 1 : 0;
  }
  const shown = [...found.whole, ...found.bound].some(v => v !== null);
  found.vague = unclear > 0 && !shown;
  return found;
}

/** Medians of the points around one. */
interface ITypical {
  overhead: number;
  error: number | null;
}

/** Those of points that have all of their neighbours, which change no more; each update asks for all of them. */
const settled = new WeakMap<object, ITypical>();

function typicalPoint(
  points: readonly Pick<IPoint, 'overhead' | 'overheadError'>[],
  index: number
): ITypical {
  const before = settled.get(points[index]);
  if (before) {
    return before;
  }
  const near = points.slice(Math.max(0, index - AROUND), index + AROUND + 1);
  const known = (values: (number | null)[]): number | null =>
    median(values.filter(value => value !== null));
  const typical = {
    overhead: known(near.map(point => point.overhead)) ?? 0,
    error: known(near.map(point => point.overheadError))
  };
  if (near.length === 2 * AROUND + 1) {
    settled.set(points[index], typical);
  }
  return typical;
}
