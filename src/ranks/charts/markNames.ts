/**
 * Position of a mark's name: its left end, the middle of its line of text, pixels, and its side of the line. `leader`:
 * the end of a line that leads from the mark to a name that is not beside it; null for one that is.
 */
export interface IPlaced {
  from: number;
  y: number;
  side: 'left' | 'right';
  leader: number | null;
}

/** Something drawn at an x, from one y to another, pixels. */
export interface IDrawn {
  x: number;
  top: number;
  bottom: number;
}

interface IName {
  x: number;
  width: number;
}

interface IPlot {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** What has been placed: a name with the line that leads to it. */
type Taken = { from: number; to: number; y: number };

/** Pixels between a mark's line and its name. */
const BESIDE = 5;
/** Pixels between two names in a row. */
const APART = 6;
/** Pixels by which a name is moved aside until it has room. */
const SHIFT = 8;

/** The name of a mark, which points to its line: between two lines, one could not tell which it is of. */
export function pointing(label: string, side: 'left' | 'right'): string {
  return side === 'right' ? `◂ ${label}` : `${label} ▸`;
}

/**
 * Positions for names beside their lines: to the right of the line, or to the left if there is no room; at
 * the lowest position that covers no curve, no other name and no other mark's line. A name that finds none is moved
 * aside, with a line that leads to it, or else covers a curve.
 *
 * @param names x of each line and width of its name, pixels, from left to right.
 * @param plot the plot, pixels.
 * @param row height of a name.
 * @param drawn curves and areas.
 * @returns a position for each; null for a name for which the whole plot has no room beside the others.
 */
export function placeNames(
  names: readonly IName[],
  plot: IPlot,
  row: number,
  drawn: readonly IDrawn[]
): (IPlaced | null)[] {
  const taken: Taken[] = [];
  return names.map(name => {
    const found =
      beside(name, names, plot, row, drawn, taken) ??
      aside(name, names, plot, row, drawn, taken) ??
      beside(name, names, plot, row, [], taken) ??
      aside(name, names, plot, row, [], taken);
    if (found) {
      const { from, y, leader } = found;
      const to = from + name.width;
      taken.push({
        from: Math.min(from, leader === null ? from : name.x),
        to: Math.max(to, leader === null ? to : name.x),
        y
      });
    }
    return found;
  });
}

/** The lowest row in which a stretch covers nothing that is drawn, and no name; undefined if there is none. */
function freeRow(
  from: number,
  to: number,
  plot: IPlot,
  row: number,
  drawn: readonly IDrawn[],
  taken: readonly Taken[]
): number | undefined {
  const near = drawn.filter(d => d.x >= from - 4 && d.x <= to + 4);
  const others = taken.filter(t => t.to + APART > from && t.from < to + APART);
  for (
    let y = plot.top + plot.height - row * 0.9;
    y - row / 2 >= plot.top;
    y -= row / 2
  ) {
    const [top, bottom] = [y - row / 2, y + row / 2];
    if (
      near.every(d => d.bottom < top || d.top > bottom) &&
      others.every(t => Math.abs(t.y - y) >= row)
    ) {
      return y;
    }
  }
  return undefined;
}

/** The lines of other marks that cross a stretch. */
function crossed(
  from: number,
  to: number,
  x: number,
  names: readonly IName[]
): number {
  return names.filter(n => n.x !== x && n.x > from - 2 && n.x < to + 2).length;
}

/** A place beside a name's own line. */
function beside(
  { x, width }: IName,
  names: readonly IName[],
  plot: IPlot,
  row: number,
  drawn: readonly IDrawn[],
  taken: readonly Taken[]
): IPlaced | null {
  const right = plot.left + plot.width;
  const sides = [x + BESIDE, x - BESIDE - width].filter(
    from => from >= plot.left && from + width <= right
  );
  for (const from of sides) {
    const to = from + width;
    if (crossed(from, to, x, names)) {
      continue;
    }
    const y = freeRow(from, to, plot, row, drawn, taken);
    if (y !== undefined) {
      return { from, y, side: from > x ? 'right' : 'left', leader: null };
    }
  }
  return null;
}

/** A place further away, with a line that leads to it: over as few other marks' lines as possible, and near. */
function aside(
  { x, width }: IName,
  names: readonly IName[],
  plot: IPlot,
  row: number,
  drawn: readonly IDrawn[],
  taken: readonly Taken[]
): IPlaced | null {
  const most = plot.left + plot.width - width;
  const places: IPlaced[] = [];
  for (let from = plot.left; from <= most; from += SHIFT) {
    // over its own line it would hide what it is of
    if (from < x + BESIDE && from + width > x - BESIDE) {
      continue;
    }
    const side = from > x ? 'right' : 'left';
    const leader = side === 'right' ? from : from + width;
    const [start, end] = [Math.min(from, x), Math.max(from + width, x)];
    const y = freeRow(start, end, plot, row, drawn, taken);
    if (y !== undefined) {
      places.push({ from, y, side, leader });
    }
  }
  const cost = ({ from, leader }: IPlaced): number =>
    crossed(from, from + width, x, names) * plot.width + Math.abs(leader! - x);
  return places.reduce<IPlaced | null>(
    (best, place) => (best && cost(best) <= cost(place) ? best : place),
    null
  );
}
