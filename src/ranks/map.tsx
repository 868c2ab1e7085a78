import React, { useEffect, useRef } from 'react';

import { IRankFigures } from './figures';
import { tint } from './heat';

const SQUARE = 8;

/**
 * A square a rank, for worlds too large for elements of their own. Own time against the median gives the
 * tint; stuck and lost ranks are framed. The table gives the same by keyboard.
 */
export function RankMap(props: {
  figures: readonly IRankFigures[];
  columns: number;
  selected: number | null;
  onSelect?: (rank: number) => void;
  summary: string;
}): JSX.Element {
  const ref = useRef<HTMLCanvasElement>(null);
  const { figures, columns } = props;
  const rows = Math.max(1, Math.ceil(figures.length / columns));
  useEffect(() => {
    if (ref.current) {
      draw(ref.current, figures, columns, props.selected);
    }
  });
  const click = (event: React.MouseEvent<HTMLCanvasElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const size = box.width / columns;
    const column = Math.floor((event.clientX - box.left) / size);
    const row = Math.floor((event.clientY - box.top) / size);
    const found = figures[row * columns + column];
    if (found) {
      props.onSelect?.(found.rank.rank);
    }
  };
  return (
    <canvas
      ref={ref}
      className="jp-Dtrain-map"
      width={columns * SQUARE}
      height={rows * SQUARE}
      role="img"
      aria-label={props.summary}
      onClick={click}
    />
  );
}

function draw(
  canvas: HTMLCanvasElement,
  figures: readonly IRankFigures[],
  columns: number,
  selected: number | null
): void {
  const context = canvas.getContext('2d');
  if (!context) {
    return;
  }
  const style = getComputedStyle(canvas);
  const known = new Map<string, string>();
  const colour = (name: string): string => {
    const value = known.get(name) ?? style.getPropertyValue(name).trim();
    known.set(name, value);
    return value;
  };
  context.clearRect(0, 0, canvas.width, canvas.height);
  figures.forEach(({ rank, over }, i) => {
    const x = (i % columns) * SQUARE;
    const y = Math.floor(i / columns) * SQUARE;
    const [name, share] = tint(over ?? NaN);
    const bad = rank.state === 'stuck' || rank.state === 'lost';
    context.globalAlpha = 1;
    context.fillStyle = colour(
      bad ? '--jp-error-color1' : '--jp-border-color2'
    );
    context.fillRect(x, y, SQUARE - 1, SQUARE - 1);
    if (share > 0.05 && !bad) {
      context.globalAlpha = share;
      context.fillStyle = colour(name);
      context.fillRect(x, y, SQUARE - 1, SQUARE - 1);
    }
    if (rank.rank === selected) {
      context.globalAlpha = 1;
      context.strokeStyle = colour('--jp-ui-font-color0');
      context.strokeRect(x + 0.5, y + 0.5, SQUARE - 2, SQUARE - 2);
    }
  });
}
