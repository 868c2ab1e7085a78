import { TranslationBundle } from '@jupyterlab/translation';

import { formatRanks } from '../../metrics/format';
import { plain } from '../lines/ansi';
import { IFolded, ITraceback } from '../lines/traceback';

/** "Rank 1 failed: ValueError: too long". */
export function failedText(
  ranks: readonly number[],
  what: string,
  trans: TranslationBundle
): string {
  return trans._n(
    'Rank %2 failed: %3',
    'Ranks %2 failed: %3',
    ranks.length,
    formatRanks(ranks),
    what
  );
}

/** "… 2 library frames": which frames are omitted. */
export function foldedText(
  { folded, why }: IFolded,
  trans: TranslationBundle
): string {
  switch (why) {
    case 'repeated':
      return trans._n(
        '… the frame above repeated %1 more time',
        '… the frame above repeated %1 more times',
        folded
      );
    case 'left':
      return trans._n('… %1 frame left out', '… %1 frames left out', folded);
    default:
      return trans._n('… %1 library frame', '… %1 library frames', folded);
  }
}

/** An error of ranks as plain text, with all frames that are known: to search for, or to send to somebody. */
export function tracebackText(
  traceback: ITraceback,
  trans: TranslationBundle
): string {
  const { ranks, what, more, frames, all, detail } = traceback;
  const rows = [failedText(ranks, what, trans), ...more];
  for (const frame of all ?? frames) {
    if ('folded' in frame) {
      rows.push(foldedText(frame, trans));
    } else {
      const { cell, file, line, inside, lines } = frame;
      const place =
        cell !== null
          ? trans.__('cell %1, line %2', cell, line)
          : `${file}:${line}`;
      rows.push(`${place}${inside}`, ...lines.map(({ text }) => text));
    }
  }
  return plain([...rows, ...detail].join('\n'));
}
