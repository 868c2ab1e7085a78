import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';

import { notebookName } from '../locations/kernelPath';
import { cellName } from '../locations/texts';
import { Cluster, IClusterActions, ILiveState, IPreferences } from '../tokens';
import { formatSpan } from '../metrics/format';
import { needsAttention, sentence } from '../verdicts/sentence';
import { alarmOf } from '../verdicts/verdict';

/** Key of a problem: its episode, else its kind and group. */
function episodeOf(cluster: Cluster): string {
  const alarm = alarmOf(cluster.metrics);
  const what = alarm?.id ?? cluster.summary.code;
  return `${cluster.id}:${what}:${cluster.world.generation}`;
}

/**
 * Notifies of stuck and lost ranks and of failed starts, once each, unless the user sees it.
 *
 * @param inView - whether a cluster's problem is visible at present, in its card or its cell.
 */
export function announceProblems(
  model: ILiveState,
  preferences: IPreferences,
  trans: TranslationBundle,
  inView: (cluster: Cluster) => boolean
): void {
  const announced = new Set<string>();
  /** Id of a cluster → the cells that its problem ended: a lost rank does, and their bars say so. */
  const ran = new Map<string, Cluster['running']>();
  model.changed.connect(() => {
    for (const cluster of model.clusters) {
      if (cluster.running.length) {
        ran.set(cluster.id, cluster.running);
      } else if (!needsAttention(cluster)) {
        ran.delete(cluster.id); // they ended by themselves
      }
      const key = episodeOf(cluster);
      const wanted = preferences.values.notifyTrouble;
      if (wanted && needsAttention(cluster) && !announced.has(key)) {
        announced.add(key);
        const running = ran.get(cluster.id) ?? [];
        if (inView({ ...cluster, running })) {
          continue;
        }
        Notification.error(`${cluster.name}: ${sentence(cluster, trans)}`, {
          autoClose: 8000
        });
      }
    }
  });
}

/** Seconds before the scheduler's limit at which the user is notified. */
const BEFORE_LIMIT = [120, 600];

/** Notifies twice that the scheduler will soon end a cluster. */
export function announceLimit(
  model: ILiveState,
  trans: TranslationBundle
): void {
  const announced = new Set<string>();
  model.changed.connect(() => {
    for (const { id, name, limit_at } of model.clusters) {
      const left = limit_at === null ? Infinity : limit_at - Date.now() / 1000;
      const before = BEFORE_LIMIT.find(seconds => left > 0 && left <= seconds);
      const key = `${id}:${limit_at}:${before}`;
      if (before === undefined || announced.has(key)) {
        continue;
      }
      announced.add(key);
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

/**
 * Notifies of the end of a long cell, unless the user sees its notebook.
 *
 * @param inView whether a notebook is visible at present, by its path on its kernel's machine.
 */
export function announceCells(
  model: ILiveState,
  preferences: IPreferences,
  actions: IClusterActions,
  trans: TranslationBundle,
  inView: (path: string) => boolean
): void {
  const running = new Map<string, { cluster: Cluster; startedAt: number }>();
  model.changed.connect(() => {
    for (const cluster of model.clusters) {
      const present = new Set(cluster.running.map(c => `${c.started_at}`));
      for (const [key, known] of running) {
        if (known.cluster.id !== cluster.id || present.has(key)) {
          continue;
        }
        running.delete(key);
        const { notifyCells, notifyCellsAfter } = preferences.values;
        const lasted = Date.now() / 1000 - known.startedAt;
        if (notifyCells && lasted >= notifyCellsAfter) {
          tell(actions, cluster, known.startedAt, trans, inView).catch(() => {
            // its cluster or the server is gone: how the cell ended is unknown
          });
        }
      }
      for (const cell of cluster.running) {
        // a look at where a cell failed ends when its user continues the ranks
        if (cell.kind !== 'post_mortem') {
          running.set(`${cell.started_at}`, {
            cluster,
            startedAt: cell.started_at
          });
        }
      }
    }
  });
}

async function tell(
  actions: IClusterActions,
  cluster: Cluster,
  startedAt: number,
  trans: TranslationBundle,
  inView: (path: string) => boolean
): Promise<void> {
  const records = await actions.cells(cluster.id);
  const record = records.find(r => r.started_at === startedAt);
  const { result } = record ?? {};
  if (!record || !result || (record.notebook && inView(record.notebook))) {
    return;
  }
  const { notebook } = record;
  const name = notebook ? notebookName(notebook) : cluster.name;
  const what =
    record.kind === 'cell'
      ? record.cell
      : cellName(record.cell, trans, record.kind);
  const place = trans.__('%1 %2', name, what);
  if (result.interrupted) {
    Notification.info(`${place}: ${result.sentence}`, { autoClose: 8000 });
  } else if (result.sentence) {
    Notification.error(`${place}: ${result.sentence}`, { autoClose: 8000 });
  } else {
    const time = formatSpan(result.elapsed_s);
    Notification.success(trans.__('%1 has ended after %2.', place, time), {
      autoClose: 8000
    });
  }
}
