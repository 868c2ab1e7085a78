import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster, IKernelRecords, Link } from '../tokens';
import { GlyphKind } from '../verdicts/glyphKind';
import { isNotebook } from '../locations/location';
import { serverRoot } from '../locations/serverRoot';
import { clusterGlyph, ranksText, stateWord } from '../verdicts/sentence';
import { briefly } from '../verdicts/texts';
import { alarmOf, holdUpOf } from '../verdicts/verdict';

/** Contents of a notebook's cluster picker. */
export interface IPicked {
  text: string;
  /** Null for none. */
  glyph: GlyphKind | null;
  /** The glyph's text. */
  word: string;
  /** Why nothing can be chosen now; null if it can. */
  why: string | null;
}

/** A cluster in the picker's menu: "local-3 · 2 ranks · mycnn.ipynb". */
export function clusterItem(
  cluster: Cluster,
  records: Pick<IKernelRecords, 'notebookName'>,
  trans: TranslationBundle
): string {
  const { name, world, state, notebooks } = cluster;
  return [
    name,
    ranksText(world.size, trans),
    ...(state === 'ready' ? [] : [stateWord(state, trans)]),
    ...notebooks.map(notebook => records.notebookName(notebook))
  ].join(' · ');
}

/** A cluster that a notebook does not use: its kernel may still be attached, as after it has started another one. */
export function withoutNotebook(cluster: Cluster, path: string): Cluster {
  const root = serverRoot();
  const notebooks = cluster.notebooks.filter(n => !isNotebook(path, n, root));
  return { ...cluster, notebooks };
}

/** The cluster of a notebook, if known; without a server it is unknown, and nothing can be chosen. */
export function pickedOf(
  cluster: Cluster | null,
  link: Link,
  trans: TranslationBundle
): IPicked {
  if (link === 'lost') {
    const word = trans.__('no connection');
    return {
      text: cluster?.name ?? trans.__('No connection'),
      glyph: 'off',
      word,
      why: trans.__(
        'No connection to the server: you can choose a cluster once the connection is back.'
      )
    };
  }
  return {
    text: cluster?.name ?? trans.__('No cluster'),
    glyph: cluster && clusterGlyph(cluster),
    word: cluster ? wordOf(cluster, trans) : '',
    why: null
  };
}

/** The text of a cluster's glyph: what keeps it from going on, or holds it up, else its state. */
function wordOf(cluster: Cluster, trans: TranslationBundle): string {
  const verdict = alarmOf(cluster.metrics) ?? holdUpOf(cluster.metrics);
  return verdict ? briefly(verdict, trans) : stateWord(cluster.state, trans);
}

/**
 * What a restart of a notebook's kernel does to its cell that runs on ranks; null if it runs none.
 *
 * @param died - the kernel has died, and so has not interrupted the cell.
 */
export function restartNote(
  clusters: readonly Cluster[],
  notebook: string | null,
  died: boolean,
  trans: TranslationBundle
): string | null {
  const root = serverRoot();
  for (const { name, running } of clusters) {
    const ran = running.find(
      r =>
        !r.detached &&
        notebook &&
        r.notebook &&
        isNotebook(notebook, r.notebook, root)
    );
    if (ran) {
      return died
        ? trans.__(
            'The kernel has died. Cell %1 still runs on the ranks of %2.',
            ran.cell,
            name
          )
        : trans.__(
            "The kernel's restart interrupts cell %1. The ranks of %2 keep their variables.",
            ran.cell,
            name
          );
    }
  }
  return null;
}
