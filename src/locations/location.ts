/** A place in the user's code, from the head. */
export interface ILocation {
  notebook?: string | null;
  /** Name of the cell, "[7]". */
  cell?: string | null;
  /** The notebook's own id of the cell. */
  cell_id?: string | null;
  file?: string | null;
  /** From 1. */
  line?: number | null;
}

/** Properties of a cell of an open notebook. */
export interface ICellFacts {
  id: string;
  code: boolean;
  /** Execution count; null if it has none, or is running. */
  count: number | null;
}

/**
 * A file's path in JupyterLab; null if it is outside the server's folder.
 *
 * @param file - its path on the machine, or in JupyterLab.
 * @param root - the server's folder; empty where it is not known.
 */
export function labPath(file: string, root: string): string | null {
  if (!file.startsWith('/')) {
    return file;
  }
  if (!root) {
    return null;
  }
  const folder = root.replace(/\/+$/, '');
  return file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : null;
}

/**
 * Whether this open notebook is the one that a kernel calls by this name.
 *
 * @param path - path of the open notebook in JupyterLab; for one outside its folder, on the machine.
 * @param notebook - its path on the machine of its kernel.
 * @param root - the server's folder; empty where it is not known.
 */
export function isNotebook(
  path: string,
  notebook: string,
  root: string
): boolean {
  if (path === notebook) {
    return true;
  }
  const inRoot = labPath(notebook, root);
  // a root that is a link has another name for the kernel
  return inRoot === null ? notebook.endsWith(`/${path}`) : inRoot === path;
}

/**
 * Index of a cell: by its id, else by its number; −1 if the notebook no longer has it.
 *
 * @param byPosition - numbers are positions among code cells, as in a job's notebook.
 */
export function cellIndex(
  cells: readonly ICellFacts[],
  place: ILocation,
  byPosition = false
): number {
  const byId = cells.findIndex(
    cell => cell.code && !!place.cell_id && cell.id === place.cell_id
  );
  if (byId >= 0 || !place.cell) {
    return byId;
  }
  const wanted = Number(place.cell.replace(/\D/g, ''));
  let position = 0;
  return cells.findIndex(
    cell => cell.code && (byPosition ? ++position : cell.count) === wanted
  );
}
