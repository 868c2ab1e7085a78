import uPlot from 'uplot';

import { themeColour, themeFont } from '../../ui/icons/theme';
import { IDrawn, placeNames, pointing } from './markNames';

/** An event at a time, ms. */
export interface IMark {
  at: number;
  label: string;
}

const NAME_HEIGHT = 14;

/**
 * Draw a line at each event, with its name where it covers no other one. Where so many are so close that the plot has
 * no room for a name, their number is at the top: the chart's tooltip has them all.
 */
export function drawMarks(plot: uPlot, marks: readonly IMark[]): void {
  if (!marks.length) {
    return;
  }
  const { ctx, bbox } = plot;
  const right = bbox.left + bbox.width;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = themeColour('--jp-ui-font-color1');
  ctx.font = `${11 * devicePixelRatio}px ${themeFont()}`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  const shown = [...marks]
    .sort((a, b) => a.at - b.at)
    .map(({ at, label }) => ({
      label,
      x: plot.valToPos(at / 1000, 'x', true),
      width: ctx.measureText(pointing(label, 'left')).width
    }))
    .filter(({ x }) => x >= bbox.left && x <= right);
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { x } of shown) {
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  const ground = themeColour('--jp-layout-color1');
  const ink = themeColour('--jp-ui-font-color1');
  const row = NAME_HEIGHT * devicePixelRatio;
  const places = placeNames(shown, bbox, row, drawn(plot));
  ctx.setLineDash([]);
  places.forEach((place, i) => {
    if (place && place.leader !== null) {
      ctx.beginPath();
      ctx.moveTo(shown[i].x, place.y);
      ctx.lineTo(place.leader, place.y);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(shown[i].x, place.y, 2.5 * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
    }
  });
  places.forEach((place, i) => {
    if (place) {
      // with its own background, also over a grid line
      ctx.fillStyle = ground;
      ctx.fillRect(place.from - 2, place.y - row / 2, shown[i].width + 4, row);
      ctx.fillStyle = ink;
      const text = pointing(shown[i].label, place.side);
      ctx.fillText(text, place.from, place.y);
    }
  });
  const more = places.filter(place => place === null).length;
  if (more) {
    const text = `+${more}`;
    const { width } = ctx.measureText(text);
    ctx.fillStyle = ground;
    ctx.fillRect(right - width - 4, bbox.top, width + 4, row);
    ctx.fillStyle = ink;
    ctx.fillText(text, right - width - 2, bbox.top + row / 2);
  }
  ctx.restore();
}

/** Everything that is drawn: areas down to 0, and lines with the segments between points. */
function drawn(plot: uPlot): IDrawn[] {
  const bottom = plot.bbox.top + plot.bbox.height;
  const [times, ...series] = plot.data;
  return series.flatMap((values, n) => {
    const filled = plot.series[n + 1].width === 0;
    let before: { x: number; y: number } | null = null;
    return [...values].flatMap((value, i) => {
      if (value === null || value === undefined) {
        before = null;
        return [];
      }
      const x = plot.valToPos(times[i], 'x', true);
      const y = plot.valToPos(value, 'y', true);
      const points = between(before ?? { x, y }, { x, y }).map(at => ({
        x: at.x,
        top: at.y,
        bottom: filled ? bottom : at.y
      }));
      before = { x, y };
      return points;
    });
  });
}

/** Points of a line, so close to each other that no name fits between them. */
function between(
  from: { x: number; y: number },
  to: { x: number; y: number }
): { x: number; y: number }[] {
  const far = Math.max(Math.abs(to.x - from.x), Math.abs(to.y - from.y));
  const count = Math.max(1, Math.ceil(far / 4));
  return Array.from({ length: count }, (_, i) => ({
    x: from.x + ((to.x - from.x) * (i + 1)) / count,
    y: from.y + ((to.y - from.y) * (i + 1)) / count
  }));
}
