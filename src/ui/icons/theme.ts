const colours = new Map<string, string>();
let theme: string | undefined;

/**
 * A colour of the theme, or its font, from CSS. Reading a style makes the browser recompute all styles, in the middle of
 * drawing; so each colour is read once per theme.
 */
export function themeColour(name: string): string {
  const now = document.body.dataset.jpThemeName;
  if (now !== theme) {
    theme = now;
    colours.clear();
  }
  let value = colours.get(name);
  if (!value) {
    value = getComputedStyle(document.body).getPropertyValue(name).trim();
    colours.set(name, value);
  }
  return value;
}

/** The font of texts in a canvas. */
export function themeFont(): string {
  return themeColour('--jp-ui-font-family');
}

const stripes = new Map<string, CanvasPattern | string>();

/** Stripes of a colour on the background, as used for waiting. */
export function hatch(
  context: CanvasRenderingContext2D,
  name: string
): CanvasPattern | string {
  const colour = themeColour(name);
  const ground = themeColour('--jp-layout-color1');
  const key = `${colour} ${ground} ${devicePixelRatio}`;
  const cached = stripes.get(key);
  if (cached) {
    return cached;
  }
  const size = Math.round(6 * devicePixelRatio);
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const pen = tile.getContext('2d');
  if (!pen) {
    return colour;
  }
  pen.fillStyle = colour;
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = ground;
  pen.globalAlpha = 0.55;
  pen.lineWidth = size / 4;
  for (const shift of [-size, 0, size]) {
    pen.beginPath();
    pen.moveTo(shift - 1, size + 1);
    pen.lineTo(shift + size + 1, -1);
    pen.stroke();
  }
  const pattern = context.createPattern(tile, 'repeat') ?? colour;
  stripes.set(key, pattern);
  return pattern;
}
