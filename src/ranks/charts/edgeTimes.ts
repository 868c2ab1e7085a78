import uPlot from 'uplot';

import { themeColour, themeFont } from '../../ui/icons/theme';
import { ITick } from './axis';

/** Distance from the plot to the middle of the times below it, CSS px; as uPlot draws the others. */
const BELOW = 10;

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
  const y = bbox.top + bbox.height + BELOW * devicePixelRatio;
  for (const { at, label } of edges) {
    const { width } = ctx.measureText(label);
    const left = plot.valToPos(at, 'x', true) - width / 2;
    ctx.fillText(label, clamped(left, ctx.canvas.width - width), y);
  }
  ctx.restore();
}

function clamped(left: number, most: number): number {
  return Math.max(0, Math.min(left, most));
}
