import React, { useEffect, useRef } from 'react';

import { themeColour } from '../icons/theme';

/**
 * A line through recent values on a canvas; gaps for unknown values.
 *
 * `label` is for screen readers. `past`: the values are not of now; the line is grey.
 */
export function Sparkline(props: {
  values: readonly (number | null)[];
  label: string;
  past?: boolean;
}): JSX.Element | null {
  const ref = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (ref.current) {
      draw(ref.current, props.values, props.past ?? false);
    }
  });
  // nothing to draw: the number takes the whole line
  if (props.values.every(value => value === null)) {
    return null;
  }
  return (
    <canvas
      ref={ref}
      className="jp-DtrainUi-spark"
      width={192}
      height={40}
      role="img"
      aria-label={props.label}
      title={props.label}
      data-past={props.past || undefined}
    />
  );
}

/** Relative variation below which a line looks level. */
const LEAST_SPAN = 0.25;

/** Points of the line, NaN for gaps: x and y in pixels. */
export function layout(
  values: readonly (number | null)[],
  width: number,
  height: number
): [number, number][] {
  const numbers = values.filter((v): v is number => v !== null);
  // unknown values at either end take no space: otherwise a short run would be a speck
  const first = values.findIndex(v => v !== null);
  const end = values.reduce((n: number, v, i) => (v === null ? n : i + 1), 0);
  const drawn = values.slice(Math.max(0, first), end);
  const most = Math.max(...numbers);
  const least = Math.min(...numbers);
  const span = Math.max(most - least, most * LEAST_SPAN) || 1;
  const base = (most + least - span) / 2;
  const last = Math.max(1, drawn.length - 1);
  return drawn.map((v, i) => [
    (i * (width - 2)) / last + 1,
    v === null ? NaN : height - 2 - ((v - base) / span) * (height - 4)
  ]);
}

function draw(
  canvas: HTMLCanvasElement,
  values: readonly (number | null)[],
  past: boolean
): void {
  const context = canvas.getContext('2d');
  if (!context) {
    return;
  }
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  context.strokeStyle = themeColour(
    past ? '--jp-ui-font-color2' : '--jp-brand-color1'
  );
  context.lineWidth = 2;
  context.beginPath();
  let down = false;
  for (const [x, y] of layout(values, width, height)) {
    if (Number.isNaN(y)) {
      down = false;
    } else if (down) {
      context.lineTo(x, y);
    } else {
      context.moveTo(x, y);
      down = true;
    }
  }
  context.stroke();
}
