import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster, Link } from '../tokens';
import { GlyphKind } from '../ui/icons/glyph';
import { clusterGlyph, stateWord } from '../ui/verdicts/sentence';

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
        'No connection to the server: a cluster can be chosen once it is back.'
      )
    };
  }
  return {
    text: cluster?.name ?? trans.__('No cluster'),
    glyph: cluster && clusterGlyph(cluster),
    word: cluster ? stateWord(cluster.state, trans) : '',
    why: null
  };
}
