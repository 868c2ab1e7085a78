import { IPoint } from '../../tokens';
import { boundOf, isVague } from '../../ui/metrics/share';

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
    vague: false
  };
  let unclear = 0;
  for (const { overhead, overheadError, waiting } of points) {
    const error = exact ? null : overheadError;
    const vague = overhead !== null && isVague(error);
    const bound =
      overhead === null || !error || vague ? null : boundOf(overhead, error);
    const drawn = vague || bound ? null : overhead;
    found.whole.push(drawn);
    found.transfer.push(drawn === null ? null : drawn - (waiting ?? 0));
    found.bound.push(
      bound && ('most' in bound ? bound.most : bound.least) / 100
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
