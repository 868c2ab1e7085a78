import React, { useEffect, useRef } from 'react';
import uPlot from 'uplot';

/** One line or area of a chart; shares or numbers, null for gaps. */
export interface ISeries {
  label: string;
  values: readonly (number | null)[];
  /** Name of a CSS variable. */
  colour: string;
  filled?: boolean;
}

/** Something that happened at a time, ms. */
export interface IMark {
  at: number;
  label: string;
}

/** A chart over time, with marks of what happened. `summary` is what a screen reader says. */
export function TimeChart(props: {
  times: readonly number[];
  series: readonly ISeries[];
  marks: readonly IMark[];
  window: number;
  /** End of the axis, ms; now unless told. */
  until?: number;
  format: (value: number) => string;
  summary: string;
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const node = host.current!;
    const made = new uPlot(options(latest, node), data(latest.current), node);
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: node.clientWidth, height: HEIGHT })
    );
    observer.observe(node);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [props.series.length]);

  useEffect(() => {
    plot.current?.setData(data(props));
  });

  return (
    <div
      ref={host}
      className="jp-Dtrain-chart"
      role="img"
      aria-label={props.summary}
    />
  );
}

const HEIGHT = 150;

function data(props: {
  times: readonly number[];
  series: readonly ISeries[];
}): uPlot.AlignedData {
  return [
    props.times.map(t => t / 1000),
    ...props.series.map(s => [...s.values])
  ] as uPlot.AlignedData;
}

function options(
  latest: React.MutableRefObject<Parameters<typeof TimeChart>[0]>,
  node: HTMLElement
): uPlot.Options {
  const style = getComputedStyle(node);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--jp-ui-font-color2'),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: colour('--jp-border-color2'), width: 1 },
    ticks: { show: false }
  };
  return {
    width: node.clientWidth || 400,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: {
        time: true,
        range: () => {
          const now = (latest.current.until ?? Date.now()) / 1000;
          return [now - latest.current.window, now];
        }
      },
      y: { range: (_, __, most) => [0, (most || 1) * 1.1] }
    },
    axes: [
      axis,
      {
        ...axis,
        size: 52,
        values: (_, splits) => splits.map(v => latest.current.format(v))
      }
    ],
    series: [
      {},
      ...latest.current.series.map(s => ({
        label: s.label,
        stroke: colour(s.colour),
        fill: s.filled ? colour(s.colour) : undefined,
        width: 1.5,
        points: { show: false }
      }))
    ],
    hooks: { draw: [plot => drawMarks(plot, latest.current.marks, colour)] }
  };
}

function drawMarks(
  plot: uPlot,
  marks: readonly IMark[],
  colour: (name: string) => string
): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour('--jp-ui-font-color1');
  ctx.font = `${11 * devicePixelRatio}px ${getComputedStyle(plot.root).fontFamily}`;
  ctx.textAlign = 'left';
  ctx.setLineDash([4, 4]);
  let free = bbox.left;
  for (const { at, label } of [...marks].sort((a, b) => a.at - b.at)) {
    const x = plot.valToPos(at / 1000, 'x', true);
    if (x >= bbox.left && x <= bbox.left + bbox.width) {
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const { width } = ctx.measureText(label);
      const fits = x + width + 6 <= bbox.left + bbox.width;
      const from = fits ? x + 4 : x - width - 4;
      // a name that would cover the one before is left out, its line is not
      if (from >= free) {
        ctx.fillText(label, from, bbox.top + 11 * devicePixelRatio);
        free = Math.max(x, from + width) + 4;
      }
    }
  }
  ctx.restore();
}
