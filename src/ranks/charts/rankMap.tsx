import { TranslationBundle } from '@jupyterlab/translation';
import React, { useEffect, useId, useRef } from 'react';

import { Rank } from '../../tokens';
import { target } from '../../ui/rovingFocus';
import { themeColour } from '../../ui/icons/theme';
import { ownTimes, shownNow } from '../../metrics/ownTime';
import { tint } from './heatMap';
import { IPicks } from '../model/picks';
import { rankWord } from '../model/texts';

/** Colours for the canvas. */
type Rgb = readonly [number, number, number];

/**
 * One square per rank, for worlds too large for separate elements. Own time relative to the median gives the
 * tint; stuck and lost ranks have the colour of errors. One tab stop: arrows, Home and End select a rank.
 *
 * The canvas has one pixel per rank, and is scaled up: thousands of squares cost no more than a picture.
 */
export function RankMap(
  props: IPicks & {
    ranks: readonly Rank[];
    /** Own time of the median rank, seconds. */
    middle: number | null;
    columns: number;
    summary: string;
    trans: TranslationBundle;
  }
): JSX.Element {
  const id = useId();
  const ref = useRef<HTMLCanvasElement>(null);
  const image = useRef<ImageData | null>(null);
  const { ranks, columns, selected } = props;
  const rows = Math.max(1, Math.ceil(ranks.length / columns));
  const chosen =
    selected === null ? -1 : ranks.findIndex(r => r.rank === selected);
  useEffect(() => {
    if (ref.current) {
      const fits =
        image.current?.width === columns && image.current.height === rows;
      image.current = draw(
        ref.current,
        ranks,
        props.middle,
        columns,
        fits ? image.current : null
      );
    }
  });
  const find = (event: React.MouseEvent<HTMLElement>): Rank | undefined => {
    const box = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width;
    const y = (event.clientY - box.top) / box.height;
    const [column, row] = [Math.floor(x * columns), Math.floor(y * rows)];
    return ranks[row * columns + column];
  };
  const move = (event: React.KeyboardEvent<HTMLElement>): void => {
    const to =
      chosen < 0
        ? event.key.startsWith('Arrow')
          ? 0
          : null
        : target(event.key, chosen, ranks.length, columns);
    if (to !== null) {
      event.preventDefault();
      props.onSelect(ranks[to].rank);
    }
  };
  const shown = ranks[chosen] as Rank | undefined;
  return (
    <div
      className="jp-DtrainRanks-mapFrame"
      style={{ '--columns': columns, '--rows': rows } as React.CSSProperties}
      role="listbox"
      tabIndex={0}
      aria-label={props.summary}
      aria-activedescendant={shown ? id : undefined}
      onKeyDown={move}
      onClick={event => {
        const rank = find(event);
        if (rank) {
          props.onSelect(rank.rank);
        }
      }}
      onContextMenu={event => {
        const rank = event.clientX || event.clientY ? find(event) : shown;
        if (rank) {
          props.onMenu(event, [rank.rank]);
        }
      }}
    >
      <canvas
        ref={ref}
        className="jp-DtrainRanks-map"
        width={columns}
        height={rows}
        aria-hidden="true"
      />
      {shown && (
        <span
          id={id}
          role="option"
          aria-selected="true"
          aria-label={props.trans.__(
            'Rank %1 on %2, %3',
            shown.rank,
            shown.node,
            rankWord(shown, props.trans)
          )}
          className="jp-DtrainRanks-mapChosen"
          style={{
            left: `${((chosen % columns) * 100) / columns}%`,
            top: `${(Math.floor(chosen / columns) * 100) / rows}%`
          }}
        />
      )}
    </div>
  );
}

/** Draws into `image`, or into a new one; returns it. */
function draw(
  canvas: HTMLCanvasElement,
  ranks: readonly Rank[],
  middle: number | null,
  columns: number,
  image: ImageData | null
): ImageData | null {
  const context = canvas.getContext('2d');
  if (!context) {
    return null;
  }
  const { own } = ownTimes(ranks);
  const colour = (name: string): Rgb => rgbOf(context, themeColour(name));
  const base = colour('--jp-border-color2');
  const error = colour('--jp-error-color1');
  const slow = colour(tint(1)[0]);
  const fast = colour(tint(-1)[0]);
  const { data } = (image ??= context.createImageData(columns, canvas.height));
  for (let i = 0; i < ranks.length; i++) {
    const { state } = ranks[i];
    const bad = state === 'stuck' || state === 'lost';
    const over = middle ? own[i] / middle - 1 : NaN;
    const share = bad ? 1 : tint(shownNow(over, ranks[i]))[1];
    const to = bad ? error : over < 0 ? fast : slow;
    const part = share > 0.05 ? share : 0;
    for (let channel = 0; channel < 3; channel++) {
      data[i * 4 + channel] =
        base[channel] + (to[channel] - base[channel]) * part;
    }
    data[i * 4 + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return image;
}

/** Any CSS colour as numbers: the canvas normalizes it to one of two formats. */
function rgbOf(context: CanvasRenderingContext2D, value: string): Rgb {
  context.fillStyle = value;
  const text = String(context.fillStyle);
  const parts = text.startsWith('#')
    ? [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16))
    : (text.match(/[\d.]+/g) ?? ['0', '0', '0']).slice(0, 3).map(Number);
  return [parts[0], parts[1], parts[2]];
}
