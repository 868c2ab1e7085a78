import type { MouseEvent } from 'react';

/** What a view of ranks does with one that is clicked. */
export interface IPicks {
  /** The rank that all views show; null for none. */
  selected: number | null;
  onSelect: (rank: number) => void;
  /** Called when a context menu is requested on some ranks. */
  onMenu: (event: MouseEvent<HTMLElement>, ranks: readonly number[]) => void;
}
