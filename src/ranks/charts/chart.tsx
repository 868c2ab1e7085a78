import React, { useEffect, useRef } from 'react';
import uPlot from 'uplot';

import { ITick } from '../../ui/charts/ticks';
import { formatClock } from '../../metrics/format';
import { useLatest } from '../../ui/hooks/useLatest';
import { hatch, themeColour, themeFont } from '../../ui/icons/theme';
import {
  changeRange,
  edgeTicks,
  fittingTicks,
  formatTick,
  labelSpace,
  valueRange,
  valueTicks
} from './axis';
import { alone, withGaps } from './gaps';
import { drawMarks, IMark } from './marks';
import { drawEdgeTimes } from './edgeTimes';
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
  none: string;
  /** Whether it has no times, either, if there are no values. */
  blank?: boolean;
  /** Height with the axis, px. */
  height?: number;
  /** Whether the change of values counts rather than their size: the axis may begin above 0. */
  ofChange?: boolean;
  /** Whether values are joined however far apart they are: all that there are, or thinned ones. */
  joined?: boolean;
  /** Whether it has its ends' times where no others have room; a long text at its end isn't cut, either. */
  edges?: boolean;
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useLatest(props);
  const theme = document.body.dataset.jpThemeName;

  useEffect(() => {
    const node = host.current!;
    const chart = new uPlot(options(latest, node), data(latest.current), node);
    plot.current = chart;
    const observer = new ResizeObserver(() =>
      chart.setSize({
        width: node.clientWidth,
        height: latest.current.height ?? HEIGHT
      })
    );
    observer.observe(node);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [latest, props.series.length, theme]);

  useEffect(() => {
    plot.current?.setData(data(props));
  });

  useEffect(() => {
    // where the axis stays as it is, new data doesn't make it format its times again
    plot.current?.redraw(true, true);
  }, [props.end]);

  const marks = told(props);
  return (
    <div
      ref={host}
      className="jp-DtrainRanks-chart"
      style={{ height: props.height ?? HEIGHT }}
      role="img"
      title={marks || undefined}
      aria-label={[props.summary, noneOf(props), marks]
        .filter(Boolean)
        .join(' ')}
    />
  );
}

/** Whether a chart's period has no value: figures on its axes would be of nothing. */
function isEmpty(props: Parameters<typeof TimeChart>[0]): boolean {
  const from = (props.until ?? Date.now()) - props.window * 1000;
  return props.series.every(s =>
    s.values.every((v, i) => v === null || props.times[i] < from)
  );
}

/** Text of a chart whose period has no value; empty if it has one. */
function noneOf(props: Parameters<typeof TimeChart>[0]): string {
  return isEmpty(props) ? props.none : '';
}

/** The marks of a chart as text, for its tooltip: in a narrow chart, not all names have room. */
function told(props: Parameters<typeof TimeChart>[0]): string {
  const { marks, until, window } = props;
  return [...marks]
    .sort((a, b) => a.at - b.at)
    .filter(({ at }) => until === undefined || at >= until - window * 1000)
    .map(({ at, label }) => `${formatClock(at, true)} ${label}`)
    .join('\n');
}

const HEIGHT = 140;
/** Space to the left for numbers, usually: the same in all charts, so that their times are aligned. */
const LEFT = 46;
/** Space between these numbers and the chart. */
const GAP = 6;
const RIGHT = 16;
/** Diameter of an isolated value, px. */
const DOT = 4;

/** Font of the axes. */
const axisFont = (): string => `11px ${themeFont()}`;

/** Width of a label of an axis, px; the canvas itself may have more pixels. */
function widthOf(context: CanvasRenderingContext2D, label: string): number {
  context.save();
  context.font = axisFont();
  const { width } = context.measureText(label);
  context.restore();
  return width;
}

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
  latest: Readonly<React.MutableRefObject<Parameters<typeof TimeChart>[0]>>,
  node: HTMLElement
): uPlot.Options {
  const colour = themeColour;
  const format = (value: number): string =>
    (latest.current.format ?? formatTick)(value);
  let left = LEFT;
  const axis = {
    stroke: colour('--jp-ui-font-color2'),
    font: axisFont(),
    ticks: { show: false }
  };
  const ends = (): [number, number] => {
    const to = (latest.current.until ?? Date.now()) / 1000;
    return [to - latest.current.window, to];
  };
  const ticks = (): ITick[] => {
    if (latest.current.blank && isEmpty(latest.current)) {
      return [];
    }
    const plotted = node.clientWidth - left - RIGHT;
    return fittingTicks(...ends(), latest.current.end ?? null, plotted);
  };
  // where one time fits at most, those of the ends tell more
  const edges = (): ITick[] => {
    const { edges, end } = latest.current;
    const marks = ticks();
    return !edges || !marks.length
      ? []
      : marks.length < 3
        ? edgeTicks(...ends(), end ?? null)
        : marks.filter(t => t.label === end);
  };
  const inner = (): ITick[] => {
    const { edges, end } = latest.current;
    const marks = ticks();
    return !edges
      ? marks
      : marks.length < 3
        ? []
        : marks.filter(t => t.label !== end);
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
        splits: () => inner().map(t => t.at),
        values: () => inner().map(t => t.label)
      },
      {
        ...axis,
        size: (plot, labels) =>
          (left = labelSpace(labels ?? [], LEFT, GAP, label =>
            widthOf(plot.ctx, label)
          )),
        gap: GAP,
        grid: { stroke: colour('--jp-border-color2'), width: 1 },
        // without values only the line below
        splits: (_, __, from, to) =>
          isEmpty(latest.current) ? [from] : valueTicks(from, to),
        values: (_, splits) =>
          splits.map(at => (isEmpty(latest.current) ? '' : format(at)))
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
        plot => drawEdgeTimes(plot, edges()),
        plot => drawNone(plot, noneOf(latest.current))
      ]
    }
  };
}
