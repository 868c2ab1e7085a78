import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';

import {
  Cluster,
  IClusterActions,
  IKernelRecords,
  ILiveState,
  IPreferences
} from '../tokens';
import { formatSpan } from '../metrics/format';
import { endedNow } from './model/endedRuns';
import { killedText, wasKilled } from '../verdicts/endings';
import { needsAttention, sentence } from '../verdicts/sentence';
import { alarmOf } from '../verdicts/verdict';

/** Key of a problem: its episode, else its kind and group. */
function episodeOf(cluster: Cluster): string {
  const alarm = alarmOf(cluster.metrics);
  const what = alarm?.id ?? cluster.summary.code;
  return `${what}:${cluster.world.generation}`;
}

/** Tells something about notebooks, by their paths for their kernels, unless another window does. */
export type Tell = (notebooks: readonly string[], tell: () => void) => void;

const tellHere: Tell = (_, tell) => tell();

/** What was announced of each cluster, until the cluster is gone. */
class Announced {
  /** Whether this was not announced yet; from then on, it was. */
  isNew(cluster: string, what: string): boolean {
    const known = this._of.get(cluster) ?? new Set<string>();
    this._of.set(cluster, known);
    return !known.has(what) && !!known.add(what);
  }

  /** Forget clusters that are gone. */
  prune(clusters: readonly Cluster[]): void {
    forgetGone(this._of, clusters);
  }

  private _of = new Map<string, Set<string>>();
}

/** Remove clusters that are gone from a map of them, by id. */
function forgetGone(
  of: Map<string, unknown>,
  clusters: readonly Cluster[]
): void {
  const present = new Set(clusters.map(c => c.id));
  [...of.keys()].filter(id => !present.has(id)).forEach(id => of.delete(id));
}

/**
 * Notifies of stuck and lost ranks, of failed starts and unexpected ends, once each, unless the user sees it.
 *
 * @param inView - whether a cluster's problem is visible at present, in its card or its cell.
 * @param tellOnce - where the notebooks of its cells are open in another window, that one tells.
 */
export function announceProblems(
  model: ILiveState,
  preferences: IPreferences,
  trans: TranslationBundle,
  inView: (cluster: Cluster) => boolean,
  tellOnce: Tell = tellHere
): void {
  const announced = new Announced();
  /** Id of a cluster → the cells that its problem ended: a lost rank does, and their bars say so. */
  const ran = new Map<string, Cluster['running']>();
  let before: readonly Cluster[] = [];
  model.changed.connect(() => {
    const killed = killedSince(before, model);
    before = model.clusters;
    for (const cluster of [...model.clusters, ...killed]) {
      if (cluster.running.length) {
        ran.set(cluster.id, cluster.running);
      } else if (!needsAttention(cluster)) {
        ran.delete(cluster.id); // they ended by themselves
      }
      const wanted = preferences.values.notifyTrouble;
      if (
        wanted &&
        needsAttention(cluster) &&
        announced.isNew(cluster.id, episodeOf(cluster))
      ) {
        const running = ran.get(cluster.id) ?? [];
        if (inView({ ...cluster, running })) {
          continue;
        }
        const why = wasKilled(cluster)
          ? ` ${killedText(cluster.summary, trans)}`
          : '';
        const said = sentence(cluster, trans) + why;
        const text = trans.__('%1: %2', cluster.name, said);
        tellOnce(
          notebooksOf({ ...cluster, running }),
          () => void Notification.error(text, { autoClose: 8000 })
        );
      }
    }
    announced.prune(model.clusters);
    forgetGone(ran, model.clusters);
  });
}

/** Clusters that were there before, and whose head was killed, in their last state. */
function killedSince(
  before: readonly Cluster[],
  { clusters, endings }: ILiveState
): Cluster[] {
  const present = new Set(clusters.map(c => c.id));
  return before
    .filter(c => !present.has(c.id) && c.id in endings)
    .map(c => endedNow(c, endings[c.id]))
    .filter(wasKilled);
}

/** Notebooks whose cells a cluster runs; without a cell, all that use it. */
function notebooksOf({ running, notebooks }: Cluster): readonly string[] {
  const own = running.flatMap(({ notebook }) => notebook ?? []);
  return own.length ? own : notebooks;
}

/** Seconds before the scheduler's limit at which the user is notified. */
const BEFORE_LIMIT = [120, 600];

/** Notifies twice that the scheduler will soon end a cluster. */
export function announceLimit(
  model: ILiveState,
  trans: TranslationBundle
): void {
  const announced = new Announced();
  model.changed.connect(() => {
    announced.prune(model.clusters);
    for (const { id, name, limit_at } of model.clusters) {
      const left = limit_at === null ? Infinity : limit_at - Date.now() / 1000;
      const before = BEFORE_LIMIT.find(seconds => left > 0 && left <= seconds);
      if (
        before === undefined ||
        !announced.isNew(id, `${limit_at}:${before}`)
      ) {
        continue;
      }
      Notification.warning(
        trans.__(
          '%1: its allocation ends in %2. Save what you need.',
          name,
          formatSpan(left)
        ),
        { autoClose: false }
      );
    }
  });
}

/** What notices of the ends of cells need. */
export interface ICellNoticeParts {
  model: ILiveState;
  preferences: IPreferences;
  actions: IClusterActions;
  records: Pick<IKernelRecords, 'notebookName'>;
  trans: TranslationBundle;
  /** Where a cell's notebook is open in another window, that one tells. */
  tellOnce?: Tell;
}

/**
 * Notifies of the end of a long cell, unless the user sees its notebook.
 *
 * @param inView whether a notebook is visible at present, by its path on its kernel's machine.
 */
export function announceCells(
  parts: ICellNoticeParts,
  inView: (path: string) => boolean
): void {
  const { model, preferences } = parts;
  /** Id of a cluster → when the cells started that ran on it at the last look. */
  const ran = new Map<string, Set<number>>();
  model.changed.connect(() => {
    forgetGone(ran, model.clusters);
    for (const cluster of model.clusters) {
      const present = new Set(cluster.running.map(c => c.started_at));
      for (const startedAt of ran.get(cluster.id) ?? []) {
        if (present.has(startedAt)) {
          continue;
        }
        const { notifyCells, notifyCellsAfter } = preferences.values;
        const lasted = Date.now() / 1000 - startedAt;
        if (notifyCells && lasted >= notifyCellsAfter) {
          tell(cluster, startedAt, parts, inView).catch(() => {
            // its cluster or the server is gone: how the cell ended is unknown
          });
        }
      }
      // diagnoses, trials and looks at where a cell failed are no cells, and their user waits for what they find
      const cells = cluster.running.filter(c => c.kind === 'cell');
      ran.set(cluster.id, new Set(cells.map(c => c.started_at)));
    }
  });
}

/** Characters of a notification's text; JupyterLab cuts a longer one. */
const MOST_TOLD = 140;

/** As many sentences of a result as fit behind its place, and at least the first: the cell has all. */
function fitting(text: string, place: string): string {
  const [first, ...more] = text.split(/(?<=[.!?]) (?=\p{Lu})/u);
  let said = first;
  for (const sentence of more) {
    const longer = `${said} ${sentence}`;
    if (`${place}: ${longer}`.length > MOST_TOLD) {
      break;
    }
    said = longer;
  }
  return said;
}

async function tell(
  cluster: Cluster,
  startedAt: number,
  { actions, records, trans, tellOnce = tellHere }: ICellNoticeParts,
  inView: (path: string) => boolean
): Promise<void> {
  const cells = await actions.cells(cluster.id);
  const record = cells.find(r => r.started_at === startedAt);
  const { result } = record ?? {};
  if (!record || !result || (record.notebook && inView(record.notebook))) {
    return;
  }
  const { notebook } = record;
  const name = notebook ? records.notebookName(notebook) : cluster.name;
  const place = trans.__('%1 %2', name, record.cell);
  tellOnce(notebook ? [notebook] : [], () => {
    const ended = trans.__('%1: %2', place, fitting(result.sentence, place));
    if (result.interrupted) {
      Notification.info(ended, { autoClose: 8000 });
    } else if (result.sentence) {
      Notification.error(ended, { autoClose: 8000 });
    } else {
      const time = formatSpan(result.elapsed_s);
      Notification.success(trans.__('%1 has ended after %2.', place, time), {
        autoClose: 8000
      });
    }
  });
}
