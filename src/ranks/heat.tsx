import React, { useEffect, useRef } from 'react';

import { IHeat } from './figures';

const COLUMN = 6;
const LABEL = 64;
const HEIGHT = 320;
const FAST = -0.06;
const SLOW = 0.2;

/** Rank × time: grey at the median, blue faster, orange slower. */
export function HeatMap(props: {
  heat: IHeat;
  selected: number | null;
  summary: string;
}): JSX.Element {
  const ref = useRef<HTMLCanvasElement>(null);
  const { heat } = props;
  const row = rowHeight(heat.rows.length);
  useEffect(() => {
    if (ref.current) {
      draw(ref.current, heat, props.selected);
    }
  });
  return (
    <canvas
      ref={ref}
      className="jp-Dtrain-heat"
      width={LABEL + heat.columns * COLUMN}
      height={Math.max(1, heat.rows.length) * row}
      role="img"
      aria-label={props.summary}
    />
  );
}

/** The tint of a deviation, as a mix of theme colours: [variable, share of it]. */
export function tint(over: number): [string, number] {
  if (Number.isNaN(over)) {
    return ['--jp-layout-color2', 0];
  }
  return over < 0
    ? ['--jp-brand-color1', Math.min(1, over / FAST) * 0.5]
    : ['--jp-warn-color0', Math.min(1, over / SLOW)];
}

/** Few ranks get room for their number; many still fit. */
function rowHeight(rows: number): number {
  return Math.max(4, Math.min(18, Math.floor(HEIGHT / Math.max(1, rows))));
}

/** The name of the selected row would run into that of this one. */
function beside(
  heat: IHeat,
  i: number,
  step: number,
  selected: number | null
): boolean {
  const near = heat.rows.slice(Math.max(0, i - step + 1), i + step);
  return (
    step > 1 &&
    selected !== null &&
    near.some(entry => entry.ranks.includes(selected))
  );
}

function draw(
  canvas: HTMLCanvasElement,
  heat: IHeat,
  selected: number | null
): void {
  const context = canvas.getContext('2d');
  if (!context) {
    return;
  }
  const style = getComputedStyle(canvas);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  const colours = new Map<string, string>();
  const colour = (name: string): string => {
    if (!colours.has(name)) {
      colours.set(name, value(name));
    }
    return colours.get(name)!;
  };
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.font = `11px ${style.fontFamily}`;
  context.textBaseline = 'middle';
  const row = rowHeight(heat.rows.length);
  const step = Math.max(1, Math.ceil(12 / row));
  heat.rows.forEach((entry, i) => {
    const y = i * row;
    const chosen = selected !== null && entry.ranks.includes(selected);
    const named =
      chosen || (i % step === 0 && !beside(heat, i, step, selected));
    if (named) {
      context.globalAlpha = 1;
      context.fillStyle = colour(
        chosen ? '--jp-ui-font-color0' : '--jp-ui-font-color2'
      );
      const middle = Math.max(6, Math.min(canvas.height - 6, y + row / 2));
      context.fillText(entry.label, 2, middle, LABEL - 6);
    }
    for (let column = 0; column < heat.columns; column++) {
      const x = LABEL + column * COLUMN;
      context.globalAlpha = 1;
      context.fillStyle = colour('--jp-layout-color2');
      context.fillRect(x, y, COLUMN - 1, row - 1);
      const [name, share] = tint(heat.cells[i * heat.columns + column]);
      if (share > 0.05) {
        context.globalAlpha = share;
        context.fillStyle = colour(name);
        context.fillRect(x, y, COLUMN - 1, row - 1);
      }
    }
    if (chosen) {
      context.globalAlpha = 1;
      context.strokeStyle = colour('--jp-ui-font-color0');
      context.strokeRect(LABEL - 0.5, y - 0.5, heat.columns * COLUMN, row);
    }
  });
}
