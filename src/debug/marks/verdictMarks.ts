import { Cell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { ILocation } from '../../locations/location';
import { indexIn, openNotebookOf } from '../../locations/open';
import { locationText } from '../../locations/texts';
import { Cluster, IKernelRecords, ILiveState } from '../../tokens';
import { formatRanks } from '../../metrics/format';
import { alarmOf } from '../../verdicts/verdict';
import { IMark, LineMarks } from './lineMarks';

/** Maximum length of a list of ranks; a longer one is replaced by their number. */
const MOST_NAMED = 16;

/** A mark, and the cell that it belongs to. */
export interface IPlacedMark extends IMark {
  place: ILocation;
}

/** Marks at the lines of cells that ranks are in, or have called a file's function from, while they are stuck. */
export function marksOfVerdict(
  cluster: Cluster,
  trans: TranslationBundle
): IPlacedMark[] {
  const alarm = alarmOf(cluster.metrics);
  const marks: IPlacedMark[] = [];
  for (const { ranks, blamed, where } of alarm?.standings ?? []) {
    const place = where?.cell ? where : where?.called_from;
    if (place?.cell && place.line) {
      const text =
        blamed && alarm?.code === 'computing'
          ? computing(ranks, trans)
          : words(ranks, blamed, trans);
      marks.push({
        place,
        line: place.line,
        kind: blamed ? 'stuck' : 'waits',
        // the cell's line calls a function in a file, in which they are
        text:
          place === where
            ? text
            : trans.__('%1, in %2', text, locationText(where, trans) ?? '')
      });
    }
  }
  return marks;
}

/** Of ranks that others wait for, and that may still join them. */
function computing(ranks: readonly number[], trans: TranslationBundle): string {
  const named = formatRanks(ranks);
  return named.length > MOST_NAMED
    ? trans._n('%1 rank computes here', '%1 ranks compute here', ranks.length)
    : trans._n(
        'rank %2 computes here',
        'ranks %2 compute here',
        ranks.length,
        named
      );
}

function words(
  ranks: readonly number[],
  blamed: boolean,
  trans: TranslationBundle
): string {
  const count = ranks.length;
  const named = formatRanks(ranks);
  if (named.length > MOST_NAMED) {
    return blamed
      ? trans._n('%1 rank is here', '%1 ranks are here', count)
      : trans._n('%1 rank waits here', '%1 ranks wait here', count);
  }
  return blamed
    ? trans._n('rank %2 is here', 'ranks %2 are here', count, named)
    : trans._n('rank %2 waits here', 'ranks %2 wait here', count, named);
}

/** Marks stuck and waiting ranks at their lines in every open notebook. */
export class VerdictMarks {
  constructor(
    private _model: ILiveState,
    private _tracker: INotebookTracker,
    private _records: IKernelRecords,
    private _trans: TranslationBundle
  ) {
    _model.changed.connect(this._draw, this);
  }

  private _draw(): void {
    const wanted = new Map<Cell, IMark[]>();
    for (const cluster of this._model.clusters) {
      for (const { place, ...mark } of marksOfVerdict(cluster, this._trans)) {
        const cell = this._cell(place);
        if (cell) {
          wanted.set(cell, [...(wanted.get(cell) ?? []), mark]);
        }
      }
    }
    for (const cell of this._marked) {
      if (!wanted.has(cell) && !cell.isDisposed) {
        this._marks.put(cell, []);
      }
    }
    wanted.forEach((marks, cell) => this._marks.put(cell, marks));
    this._marked = new Set(wanted.keys());
  }

  private _cell(place: ILocation): Cell | null {
    const panel: NotebookPanel | null = openNotebookOf(
      this._tracker,
      place.notebook,
      this._records
    );
    const index = panel ? indexIn(panel, place) : -1;
    return panel?.content.widgets[index] ?? null;
  }

  private _marked = new Set<Cell>();
  private _marks = new LineMarks('verdict');
}
