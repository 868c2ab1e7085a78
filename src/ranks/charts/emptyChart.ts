import uPlot from 'uplot';

import { themeColour, themeFont } from '../../ui/icons/theme';

/** Draw a text in the middle, in as many lines as it needs. */
export function drawNone(plot: uPlot, text: string): void {
  if (!text) {
    return;
  }
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = `${12 * devicePixelRatio}px ${themeFont()}`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  const lines = text.split(' ').reduce<string[]>((done, word) => {
    const longer = [...done.slice(-1), word].join(' ');
    return ctx.measureText(longer).width > bbox.width * 0.9
      ? [...done, word]
      : [...done.slice(0, -1), longer];
  }, []);
  const row = 16 * devicePixelRatio;
  const middle = bbox.left + bbox.width / 2;
  const top = bbox.top + (bbox.height - row * (lines.length - 1)) / 2;
  lines.forEach((line, i) => {
    const { width } = ctx.measureText(line);
    const y = top + row * i;
    // with its own background, over a grid line
    ctx.fillStyle = themeColour('--jp-layout-color1');
    ctx.fillRect(middle - width / 2 - 4, y - row / 2, width + 8, row);
    ctx.fillStyle = themeColour('--jp-ui-font-color2');
    ctx.fillText(line, middle, y);
  });
  ctx.restore();
}
