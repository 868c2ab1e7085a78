import React, { useEffect, useRef } from 'react';
import uPlot from 'uplot';

import { hatch, themeColour, themeFont } from '../../ui/icons/theme';
import {
  changeRange,
  formatTick,
  IDrawn,
  placeNames,
  timeTicks,
  valueRange,
  valueTicks
} from './axis';
import { alone, withGaps } from './gaps';
import { drawNone } from './emptyChart';

/** One line or area of a chart; shares or numbers, null for gaps. */
export interface ISeries {
  label: string;
  values: readonly (number | null)[];
  /** Name of a CSS variable. */
  colour: string;
  filled?: boolean;
  /** Whether it is filled with stripes, like waiting everywhere. */
  hatched?: boolean;
  /** Whether its line is dashed, as a bound's is. */
  dashed?: boolean;
}

/** An event at a time, ms. */
export interface IMark {
  at: number;
  label: string;
}

/** A chart over time, with marks of events. `summary` is for screen readers. */
export function TimeChart(props: {
  times: readonly number[];
  series: readonly ISeries[];
  marks: readonly IMark[];
  window: number;
  /** End of the axis, ms; now by default. */
  until?: number;
  /** Text below the end of the axis; its time by default. */
  end?: string | null;
  /** Formats the values beside the axis. */
  format?: (value: number) => string;
  summary: string;
  /** Text in place of values, if there are none. */
  none?: string;
  /** Height with the axis, px. */
  height?: number;
  /** Whether the change of values counts rather than their size: the axis may begin above 0. */
  ofChange?: boolean;
  /** Whether values are joined however far apart they are: all that there are, or thinned ones. */
  joined?: boolean;
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const theme = document.body.dataset.jpThemeName;

  useEffect(() => {
    const node = host.current!;
    const made = new uPlot(options(latest, node), data(latest.current), node);
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({
        width: node.clientWidth,
        height: latest.current.height ?? HEIGHT
      })
    );
    observer.observe(node);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [props.series.length, theme]);

  useEffect(() => {
    plot.current?.setData(data(props));
  });

  return (
    <div
      ref={host}
      className="jp-DtrainRanks-chart"
      style={{ height: props.height ?? HEIGHT }}
      role="img"
      aria-label={[props.summary, noneOf(props)].filter(Boolean).join(' ')}
    />
  );
}

/** Text of a chart whose period has no value; empty if it has one. */
function noneOf(props: Parameters<typeof TimeChart>[0]): string {
  const from = (props.until ?? Date.now()) - props.window * 1000;
  const empty = props.series.every(s =>
    s.values.every((v, i) => v === null || props.times[i] < from)
  );
  return empty ? (props.none ?? '') : '';
}

const HEIGHT = 140;
const NAME_HEIGHT = 14;
/** Space to the left for numbers: the same in all charts, so that their times are aligned. */
const LEFT = 46;
const RIGHT = 16;
/** Diameter of an isolated value, px. */
const DOT = 4;
/** Space for times below the axis. */
const TICK_WIDTH = 76;

function data(props: {
  times: readonly number[];
  series: readonly ISeries[];
  joined?: boolean;
}): uPlot.AlignedData {
  const times = props.times.map(t => t / 1000);
  const lines = props.series.map(s => s.values);
  return (
    props.joined ? [times, ...lines] : withGaps(times, lines)
  ) as uPlot.AlignedData;
}

function options(
  latest: React.MutableRefObject<Parameters<typeof TimeChart>[0]>,
  node: HTMLElement
): uPlot.Options {
  const colour = themeColour;
  const format = (value: number): string =>
    (latest.current.format ?? formatTick)(value);
  const axis = {
    stroke: colour('--jp-ui-font-color2'),
    font: `11px ${themeFont()}`,
    ticks: { show: false }
  };
  const ends = (): [number, number] => {
    const to = (latest.current.until ?? Date.now()) / 1000;
    return [to - latest.current.window, to];
  };
  const ticks = (): ReturnType<typeof timeTicks> => {
    const plotted = Math.max(1, node.clientWidth - LEFT - RIGHT);
    const room = Math.max(2, Math.floor(plotted / TICK_WIDTH));
    const free = (latest.current.window * TICK_WIDTH) / 2 / plotted;
    return timeTicks(...ends(), latest.current.end ?? null, room, free);
  };
  return {
    width: node.clientWidth || 400,
    height: latest.current.height ?? HEIGHT,
    padding: [8, RIGHT, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: () => ends() },
      y: {
        range: (_, least, most) =>
          latest.current.ofChange
            ? changeRange(least, most)
            : valueRange(least, most)
      }
    },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 4,
        grid: { show: false },
        splits: () => ticks().map(t => t.at),
        values: () => ticks().map(t => t.label)
      },
      {
        ...axis,
        size: LEFT,
        gap: 6,
        grid: { stroke: colour('--jp-border-color2'), width: 1 },
        splits: (_, __, from, to) => valueTicks(from, to),
        values: (_, splits) => splits.map(format)
      }
    ],
    series: [
      {},
      ...latest.current.series.map(s => ({
        label: s.label,
        stroke: colour(s.colour),
        fill: s.hatched
          ? (plot: uPlot) => hatch(plot.ctx, s.colour)
          : s.filled
            ? colour(s.colour)
            : undefined,
        width: s.filled || s.hatched ? 0 : 1.5,
        dash: s.dashed ? [4, 3] : undefined,
        points: {
          show: false,
          size: DOT,
          fill: colour(s.colour),
          // a dot for isolated values, which have no line
          filter: (plot: uPlot, i: number) =>
            s.filled || s.hatched ? null : alone([...plot.data[i]])
        }
      }))
    ],
    hooks: {
      draw: [
        plot => drawMarks(plot, latest.current.marks),
        plot => drawNone(plot, noneOf(latest.current))
      ]
    }
  };
}

function drawMarks(plot: uPlot, marks: readonly IMark[]): void {
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
      width: ctx.measureText(label).width
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
  placeNames(shown, bbox, row, drawn(plot)).forEach((place, i) => {
    if (place) {
      // with its own background, also over a grid line
      ctx.fillStyle = ground;
      ctx.fillRect(place.from - 2, place.y - row / 2, shown[i].width + 4, row);
      ctx.fillStyle = ink;
      ctx.fillText(shown[i].label, place.from, place.y);
    }
  });
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
      const found = between(before ?? { x, y }, { x, y }).map(at => ({
        x: at.x,
        top: at.y,
        bottom: filled ? bottom : at.y
      }));
      before = { x, y };
      return found;
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
