/** The line that loads the magics: without it, a cell of ranks can't run. */
export const LOAD_LINE = '%load_ext dtrain_lab';

/** The first cell of ranks: the panel shows it to new users, and a command inserts it. */
export const SNIPPET = '%%distributed\nprint(rank, device)';
