import React, { useEffect, useRef } from 'react';

import { IRankFigures } from './figures';
import { tint } from './heat';

/** Colours as the canvas takes them. */
type Rgb = readonly [number, number, number];

/**
 * A square a rank, for worlds too large for elements of their own. Own time against the median gives the
 * tint; stuck and lost ranks have the colour of errors. The table gives the same by keyboard.
 *
 * The canvas has one pixel a rank, and is scaled up: thousands of squares cost no more than a picture.
 */
export function RankMap(props: {
  figures: readonly IRankFigures[];
  columns: number;
  selected: number | null;
  onSelect?: (rank: number) => void;
  summary: string;
}): JSX.Element {
  const ref = useRef<HTMLCanvasElement>(null);
  const { figures, columns, selected } = props;
  const rows = Math.max(1, Math.ceil(figures.length / columns));
  const chosen = figures.findIndex(f => f.rank.rank === selected);
  useEffect(() => {
    if (ref.current) {
      draw(ref.current, figures, columns);
    }
  });
  const click = (event: React.MouseEvent<HTMLElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const column = Math.floor(
      ((event.clientX - box.left) / box.width) * columns
    );
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    const found = figures[row * columns + column];
    if (found) {
      props.onSelect?.(found.rank.rank);
    }
  };
  return (
    <div
      className="jp-Dtrain-mapFrame"
      style={{ '--columns': columns, '--rows': rows } as React.CSSProperties}
      onClick={click}
    >
      <canvas
        ref={ref}
        className="jp-Dtrain-map"
        width={columns}
        height={rows}
        role="img"
        aria-label={props.summary}
      />
      {chosen >= 0 && (
        <span
          className="jp-Dtrain-mapChosen"
          style={{
            left: `${((chosen % columns) * 100) / columns}%`,
            top: `${(Math.floor(chosen / columns) * 100) / rows}%`
          }}
        />
      )}
    </div>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  figures: readonly IRankFigures[],
  columns: number
): void {
  const context = canvas.getContext('2d');
  if (!context) {
    return;
  }
  const style = getComputedStyle(canvas);
  const known = new Map<string, Rgb>();
  const colour = (name: string): Rgb => {
    let value = known.get(name);
    if (!value) {
      value = rgbOf(context, style.getPropertyValue(name).trim());
      known.set(name, value);
    }
    return value;
  };
  const image = context.createImageData(columns, canvas.height);
  const base = colour('--jp-border-color2');
  const error = colour('--jp-error-color1');
  figures.forEach(({ rank, over }, i) => {
    const bad = rank.state === 'stuck' || rank.state === 'lost';
    const [name, share] = tint(over ?? NaN);
    const [from, to, part] = bad
      ? [error, error, 0]
      : [base, share > 0.05 ? colour(name) : base, share];
    for (let channel = 0; channel < 3; channel++) {
      image.data[i * 4 + channel] =
        from[channel] + (to[channel] - from[channel]) * part;
    }
    image.data[i * 4 + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}

/** Any colour of CSS as numbers: the canvas itself writes what it was given in one of two ways. */
function rgbOf(context: CanvasRenderingContext2D, value: string): Rgb {
  context.fillStyle = value;
  const text = String(context.fillStyle);
  const parts = text.startsWith('#')
    ? [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16))
    : (text.match(/[\d.]+/g) ?? ['0', '0', '0']).slice(0, 3).map(Number);
  return [parts[0], parts[1], parts[2]];
}
