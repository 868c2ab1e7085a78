import { TranslationBundle } from '@jupyterlab/translation';

import { Cluster, Link } from '../tokens';
import { GlyphKind } from '../ui/icons/glyph';
import { clusterGlyph, stateWord } from '../ui/verdicts/sentence';

/** What a notebook's cluster picker shows. */
export interface IPicked {
  text: string;
  /** Null for none. */
  glyph: GlyphKind | null;
  /** The glyph's text. */
  word: string;
  /** Why nothing can be chosen now; null where it can. */
  why: string | null;
}

/** The cluster of a notebook, as far as it is known: without a server nothing is, and nothing can be chosen. */
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
