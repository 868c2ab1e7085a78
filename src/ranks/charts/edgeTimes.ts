import uPlot from 'uplot';

import { themeColour, themeFont } from '../../ui/icons/theme';
import { ITick } from '../../ui/charts/ticks';

/** Distance from the plot to the middle of the times below it, CSS px; of a single one as uPlot draws the others. */
const BELOW = 10;
/** Of the first one, which is below the lowest value's label, too. */
const BELOW_VALUES = 13;
/** Least distance between two times, CSS px. */
const APART = 10;

/**
 * Draw the texts at the ends of a time axis. They are centred there as far as the canvas has room, so that a narrow
 * chart has both.
 */
export function drawEdgeTimes(plot: uPlot, edges: readonly ITick[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = `${11 * devicePixelRatio}px ${themeFont()}`;
  ctx.fillStyle = themeColour('--jp-ui-font-color2');
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  const below = edges.length > 1 ? BELOW_VALUES : BELOW;
  const y = bbox.top + bbox.height + below * devicePixelRatio;
  const place = (at: number, label: string): [number, number] => {
    const { width } = ctx.measureText(label);
    const left = plot.valToPos(at, 'x', true) - width / 2;
    const from = clamped(left, ctx.canvas.width - width);
    return [from, from + width];
  };
  let free = -Infinity;
  for (const { at, label, short } of edges) {
    const shown = place(at, label)[0] < free ? (short ?? label) : label;
    const [from, to] = place(at, shown);
    ctx.fillText(shown, from, y);
    free = to + APART * devicePixelRatio;
  }
  ctx.restore();
}

function clamped(left: number, most: number): number {
  return Math.max(0, Math.min(left, most));
}
