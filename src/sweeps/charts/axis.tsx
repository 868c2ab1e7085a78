import { TranslationBundle } from '@jupyterlab/translation';
import React, { useRef } from 'react';

import { Brush, IAxis, moved } from './brush';

/** Half of the width in which an axis can be brushed, px. */
const GRIP = 14;
/** Distance from an axis to its labels, px: their halo ends before it. */
const BESIDE = 7;
/** Minimum brush length, as a fraction of the axis: a shorter drag is a click, and clears the brush. */
const LEAST = 0.02;

/** An axis and where it is drawn, px. */
interface IPlacedAxis {
  axis: IAxis;
  x: number;
  top: number;
  high: number;
  /** -1 for the first one, 1 for the last one. */
  side: -1 | 0 | 1;
  /** Offset of an outer axis's name. */
  shift: number;
}

/** Position of a fraction of an axis, px. */
function heightOf({ top, high }: IPlacedAxis, at: number): number {
  return top + (1 - at) * high;
}

/** An axis of parallel coordinates with its brush: dragged along, or each end moved by arrow keys. */
export function Axis(
  props: IPlacedAxis & {
    brush: Brush | undefined;
    set: (brush: Brush | null) => void;
    /** Index of the brush end with tabIndex 0: 0 or 1; another number if another axis has it. */
    stop: number;
    /** Focus another end, counted from the lower one of this axis. */
    go: (end: number) => void;
    trans: TranslationBundle;
  }
): JSX.Element {
  const { axis, x, brush, set, go } = props;
  const press = (event: React.KeyboardEvent, end: 0 | 1): void => {
    const across = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const now = moved(brush, end, event.key, axis.scale.step);
    if (across !== undefined) {
      go(end + across);
    } else if (now !== undefined) {
      set(now);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <g className="jp-DtrainSweep-axis">
      <AxisLabels {...props} />
      {brush && (
        <rect
          className="jp-DtrainSweep-brush"
          x={x - 6}
          width={12}
          y={heightOf(props, brush[1])}
          height={heightOf(props, brush[0]) - heightOf(props, brush[1])}
        />
      )}
      {([0, 1] as const).map(end => (
        <BrushEnd {...props} key={end} end={end} press={press} />
      ))}
      <Grip {...props} />
    </g>
  );
}

/** The line of an axis, its name and its ticks. */
function AxisLabels(props: IPlacedAxis): JSX.Element {
  const { axis, x, side } = props;
  return (
    <g aria-hidden="true">
      <line x1={x} x2={x} y1={heightOf(props, 0)} y2={heightOf(props, 1)} />
      <text
        className="jp-DtrainSweep-axisName"
        x={x}
        y={14}
        dx={side * props.shift}
        textAnchor={side < 0 ? 'start' : side > 0 ? 'end' : 'middle'}
      >
        {axis.name}
      </text>
      {axis.scale.ticks.map(tick => (
        <text
          key={tick.at}
          x={x + (side > 0 ? BESIDE : -BESIDE)}
          y={heightOf(props, tick.at) + 4}
          textAnchor={side > 0 ? 'start' : 'end'}
        >
          {tick.label}
        </text>
      ))}
    </g>
  );
}

/** An end of the brush, for the keyboard: 0 for the lower one. */
function BrushEnd(
  props: IPlacedAxis & {
    end: 0 | 1;
    brush: Brush | undefined;
    stop: number;
    go: (end: number) => void;
    press: (event: React.KeyboardEvent, end: 0 | 1) => void;
    trans: TranslationBundle;
  }
): JSX.Element {
  const { axis, x, end, brush, trans } = props;
  const at = brush?.[end] ?? end;
  return (
    <rect
      className="jp-DtrainSweep-end"
      role="slider"
      tabIndex={props.stop === end ? 0 : -1}
      aria-label={
        end ? trans.__('%1, to', axis.name) : trans.__('%1, from', axis.name)
      }
      aria-orientation="vertical"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(100 * at)}
      aria-valuetext={axis.scale.text(at)}
      data-moved={brush ? '' : undefined}
      x={x - 9}
      width={18}
      y={heightOf(props, at) - 3}
      height={6}
      rx={2}
      onFocus={() => props.go(end)}
      onKeyDown={event => props.press(event, end)}
    />
  );
}

/** The area in which an axis is brushed with the pointer. */
function Grip(
  props: IPlacedAxis & { set: (brush: Brush | null) => void }
): JSX.Element {
  const { x, top, high, set } = props;
  const begun = useRef<number | null>(null);
  const place = (event: React.PointerEvent<SVGElement>): number => {
    const all = event.currentTarget.ownerSVGElement?.getBoundingClientRect();
    const at = 1 - (event.clientY - (all?.top ?? 0) - top) / high;
    return Math.min(1, Math.max(0, at));
  };
  return (
    <rect
      className="jp-DtrainSweep-grip"
      x={x - GRIP}
      width={2 * GRIP}
      y={heightOf(props, 1)}
      height={heightOf(props, 0) - heightOf(props, 1)}
      onPointerDown={event => {
        event.currentTarget.setPointerCapture(event.pointerId);
        begun.current = place(event);
      }}
      onPointerMove={event => {
        if (begun.current !== null) {
          const ends = [begun.current, place(event)].sort((a, b) => a - b);
          set([ends[0], ends[1]]);
        }
      }}
      onPointerUp={event => {
        const from = begun.current;
        begun.current = null;
        if (from !== null && Math.abs(from - place(event)) < LEAST) {
          set(null);
        }
      }}
    />
  );
}
