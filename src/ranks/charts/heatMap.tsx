import { TranslationBundle } from '@jupyterlab/translation';
import React, { useEffect, useRef, useState } from 'react';

import { themeColour, themeFont } from '../../ui/icons/theme';
import { FAINT } from '../../metrics/ownTime';
import { fittingTicks } from './axis';
import { hasNodes, IHeat, hasTime } from '../model/heatMapCells';

/** Space for the names of rows, px. */
export const HEAT_LEFT = 52;
/** From this height, px, each row has its name beside it. */
const NAMED_ROW = 12;
const AXIS = 20;
const HEIGHT = 300;
const GAP = 3;
/** Space around the rows for the frame of the selected one. */
const EDGE = 1;
const FAST = -0.06;
const SLOW = 0.2;
/** Deviations below this count as none. */
const LEVEL = 0.02;
const STEPS = 4;

/**
 * Rank × time: grey at the median, blue faster, orange slower, deep if the head called the rank slow; empty
 * where nothing is known; times below.
 */
export function HeatMap(props: {
  heat: IHeat;
  /** Text at the end of the axis; null for its time. */
  end: string | null;
  /** Beginning and end of the axis, s. */
  from: number;
  to: number;
  selected: number | null;
  /** The slow rank, which is named in its row. */
  marked: number | null;
  /** Its label. */
  markText: string;
  summary: string;
}): JSX.Element {
  const ref = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const node = ref.current!.parentElement!;
    const observer = new ResizeObserver(() => setWidth(node.clientWidth));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (ref.current && width > HEAT_LEFT) {
      draw(ref.current, width, props);
    }
  });
  return (
    <div className="jp-DtrainRanks-heat">
      <canvas ref={ref} role="img" aria-label={props.summary} />
    </div>
  );
}

/** Legend of the colours: from faster than usual to slower; deep for slow ranks; grey without a difference that is certain. */
export function Scale(props: { trans: TranslationBundle }): JSX.Element {
  const squares = (steps: number[]): JSX.Element[] =>
    steps.map(step => <i key={step} data-step={step} />);
  return (
    <span className="jp-DtrainRanks-scale">
      <span>−6 % {squares([-1, -0.6, 0, 0.25])} +5 %</span>
      <span>
        {props.trans.__('slow')} {squares([0.5, 0.75, 1])} +20 %
      </span>
      <span>
        {squares([0])} {props.trans.__('alike, or unsteady')}
      </span>
    </span>
  );
}

/** The tint of a deviation, as a mix of theme colours: [variable, its share], in steps. */
export function tint(over: number): [string, number] {
  if (Number.isNaN(over)) {
    return ['--jp-layout-color2', 0];
  }
  return tintAt(stepOf(over));
}

/** Step of a deviation: 0 none, up to `STEPS` if slower, down to `-STEPS` if faster. */
function stepOf(over: number): number {
  if (Math.abs(over) < LEVEL) {
    return 0;
  }
  const share = over < 0 ? over / FAST : over / SLOW;
  const step = Math.min(STEPS, Math.ceil(share * STEPS));
  return over < 0 ? -step : step;
}

function tintAt(step: number): [string, number] {
  const share = Math.abs(step) / STEPS;
  return step < 0
    ? ['--jp-brand-color1', share * 0.5]
    : ['--jp-warn-color0', share];
}

/** The same as a CSS colour. */
export function tintOf(over: number): string {
  const [name, share] = tint(over);
  return `color-mix(in srgb, var(${name}) ${Math.round(share * 100)}%, var(--jp-layout-color2))`;
}

/** Height of a row, by number of ranks. */
function rowHeight(rows: number): number {
  return Math.max(2, Math.min(18, Math.floor(HEIGHT / Math.max(1, rows))));
}

function draw(
  canvas: HTMLCanvasElement,
  width: number,
  props: Parameters<typeof HeatMap>[0]
): void {
  const { heat, selected, marked } = props;
  const row = rowHeight(heat.rows.length);
  const tops = topsOf(heat, row);
  const bottom = (tops[tops.length - 1] ?? EDGE) + row + EDGE;
  const ratio = devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = (bottom + AXIS) * ratio;
  canvas.style.height = `${bottom + AXIS}px`;
  const context = canvas.getContext('2d');
  if (!context) {
    return;
  }
  context.scale(ratio, ratio);
  const room = width - HEAT_LEFT - EDGE;
  const column = room / heat.columns;
  // rounded to whole pixels: half-covered ones would be seams
  const edges = Array.from(
    { length: heat.columns + 1 },
    (_, at) => Math.round((HEAT_LEFT + at * column) * ratio) / ratio
  );
  for (const [step, runs] of runsOf(heat)) {
    for (const [colour, alpha] of [
      ['--jp-layout-color2', 1] as const,
      tintAt(step)
    ]) {
      context.globalAlpha = alpha;
      context.fillStyle = themeColour(colour);
      for (const { row: index, from, to } of alpha > 0 ? runs : []) {
        const left = edges[from];
        context.fillRect(left, tops[index], edges[to] - left, row);
      }
    }
  }
  context.globalAlpha = 1;
  context.textBaseline = 'middle';
  const font = themeFont();
  drawNames(context, font, heat, tops, row, marked ?? selected);
  const index = heat.rows.findIndex(r => r.ranks.includes(selected ?? -1));
  if (index >= 0) {
    context.strokeStyle = themeColour('--jp-ui-font-color0');
    context.strokeRect(HEAT_LEFT - 0.5, tops[index] - 0.5, room + 1, row + 1);
  }
  const slow = heat.rows.findIndex(r => r.ranks.includes(marked ?? -1));
  if (slow >= 0) {
    const named = row >= NAMED_ROW && !hasNodes(heat);
    drawMark(context, font, props, slow, tops[slow] + row / 2, column, named);
  }
  context.font = `11px ${font}`;
  context.fillStyle = themeColour('--jp-ui-font-color2');
  const { from, to, end } = props;
  for (const { at, label } of fittingTicks(from, to, end, room)) {
    const share = (at - from) / (to - from);
    context.textAlign = share > 0.97 ? 'right' : 'center';
    context.fillText(label, HEAT_LEFT + share * room, bottom + AXIS / 2 + 3);
  }
}

/** Cells of a row that have the same tint: columns `from` to, but without, `to`. */
interface IRun {
  row: number;
  from: number;
  to: number;
}

/**
 * Known cells by step of their tint, those beside each other as one. A canvas takes longer to parse a colour than
 * to fill a cell, so each is set once; and most cells of a usual training have the tint of their neighbours.
 * Cells where nothing is known are left out: in grey, even ranks would look like a time without training.
 */
function runsOf({ cells, columns }: IHeat): Map<number, IRun[]> {
  const byTint = new Map<number, IRun[]>();
  let run: IRun | null = null;
  let before = NaN;
  cells.forEach((over, cell) => {
    const at = cell % columns;
    const step = Number.isNaN(over) ? NaN : stepOf(over);
    if (run && at > 0 && step === before) {
      run.to = at + 1;
    } else if (Number.isNaN(step)) {
      run = null;
    } else {
      run = { row: (cell - at) / columns, from: at, to: at + 1 };
      const runs = byTint.get(step);
      if (runs) {
        runs.push(run);
      } else {
        byTint.set(step, [run]);
      }
    }
    before = step;
  });
  return byTint;
}

/** Top of each row, with space between nodes. */
function topsOf(heat: IHeat, row: number): number[] {
  let top = EDGE;
  return heat.rows.map((entry, i) => {
    if (i > 0) {
      const apart = entry.group !== heat.rows[i - 1].group;
      top += row + (apart ? GAP : row > 8 ? 1 : 0);
    }
    return top;
  });
}

/** Names of nodes beside their rows, or of rows if there is only one node. */
function drawNames(
  context: CanvasRenderingContext2D,
  font: string,
  heat: IHeat,
  tops: readonly number[],
  row: number,
  rank: number | null
): void {
  const groups = new Map<
    string,
    { label: string; from: number; to: number; bold: boolean }
  >();
  const byNode = hasNodes(heat);
  heat.rows.forEach(({ label, group, ranks }, i) => {
    const key = byNode ? group : label;
    const span = groups.get(key) ?? {
      label: key,
      from: tops[i],
      to: 0,
      bold: false
    };
    span.to = tops[i] + row;
    span.bold ||= rank !== null && ranks.includes(rank);
    groups.set(key, span);
  });
  context.textAlign = 'right';
  let free = -Infinity;
  for (const { label, from, to, bold } of groups.values()) {
    // the first one of low rows would be cut
    const y = Math.max(EDGE + 6, (from + to) / 2);
    if (y - 6 >= free) {
      context.font = `${bold ? '600 ' : ''}11px ${font}`;
      context.fillStyle = themeColour(
        bold ? '--jp-ui-font-color1' : '--jp-ui-font-color2'
      );
      context.fillText(label, HEAT_LEFT - 6, y, HEAT_LEFT - 8);
      free = y + 6;
    }
  }
}

/** The slow rank's name, left of the time when it became slow; over no cells if its row is `named`. */
function drawMark(
  context: CanvasRenderingContext2D,
  font: string,
  props: Parameters<typeof HeatMap>[0],
  index: number,
  y: number,
  column: number,
  named: boolean
): void {
  const { heat, markText } = props;
  let at = heat.columns - 1;
  const slow = (i: number): boolean =>
    !(heat.cells[index * heat.columns + i] <= FAINT + LEVEL);
  while (at > 0 && slow(at - 1)) {
    at -= 1;
  }
  // unknown times before the first one don't count as slow
  while (
    at < heat.columns &&
    Number.isNaN(heat.cells[index * heat.columns + at])
  ) {
    at += 1;
  }
  context.font = `600 11px ${font}`;
  const text = `${markText} ▸`;
  const { width } = context.measureText(text);
  const right = HEAT_LEFT + at * column - 4;
  const first = Math.floor((right - width - 3 - HEAT_LEFT) / column);
  if (first < 0 || (named && hasTime(heat, index, first, at))) {
    return;
  }
  context.fillStyle = themeColour('--jp-layout-color1');
  context.fillRect(right - width - 3, y - 7, width + 5, 14);
  context.fillStyle = themeColour('--jp-ui-font-color0');
  context.textAlign = 'right';
  context.fillText(text, right, y);
}
