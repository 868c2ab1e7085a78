import { Contents } from '@jupyterlab/services';
import { IStateDB } from '@jupyterlab/statedb';

import { DebugModel } from './model';

/** A notebook: the id of its session, and its path. */
interface INotebook {
  id: string;
  path: string;
}

/** The part of JupyterLab's service that is used. */
interface IDebug {
  readonly session: { readonly connection: INotebook | null } | null;
}

const KEY = 'dtrain-lab:expressions';

/** Number of notebooks whose expressions are kept: those that were changed last. */
export const MOST = 50;

/**
 * Keeps the compared expressions of each notebook in the browser's state: a reloaded page has them again, and
 * another notebook has its own.
 */
export class ExpressionStore {
  /**
   * @param _debug - has the session of the debugged notebook.
   * @param files - tells of renamed notebooks and folders.
   */
  constructor(
    private _model: Pick<DebugModel, 'rows' | 'restore' | 'changed'>,
    private _state: Pick<IStateDB, 'fetch' | 'save'>,
    private _debug: IDebug,
    files: Pick<Contents.IManager, 'fileChanged'>
  ) {
    files.fileChanged.connect((_, { type, oldValue, newValue }) => {
      if (type === 'rename' && oldValue?.path && newValue?.path) {
        this._rename(localPath(oldValue.path), localPath(newValue.path));
      }
    });
  }

  /** Read what an earlier page has kept; expressions of this page come after those. */
  async load(): Promise<void> {
    const stored = await this._state.fetch(KEY);
    for (const [path, expressions] of Array.isArray(stored) ? stored : []) {
      if (typeof path === 'string' && Array.isArray(expressions)) {
        this._stored.set(
          path,
          expressions.filter(each => typeof each === 'string')
        );
      }
    }
    this._model.changed.connect(() => this.follow());
    this._loaded = true;
    this.follow();
  }

  /** Show the expressions of the notebook that is debugged now, and keep those that are shown. */
  follow(): void {
    const next = this._debug.session?.connection;
    if (!this._loaded || !next) {
      return;
    }
    // after a rename, a session has its former path for a while
    if (!this._shown || next.id !== this._shown.id) {
      const stored = this._stored.get(localPath(next.path)) ?? [];
      // nobody's: they were added before there was a notebook
      const added = this._shown ? [] : this._now();
      this._shown = { id: next.id, path: localPath(next.path) };
      this._model.restore([...stored, ...added]); // and then here again
      return;
    }
    const { path } = this._shown;
    const now = this._now();
    if (JSON.stringify(now) !== JSON.stringify(this._stored.get(path) ?? [])) {
      this._stored.delete(path);
      if (now.length) {
        this._stored.set(path, now);
      }
      this._save();
    }
  }

  private _now(): string[] {
    return this._model.rows.map(({ expression }) => expression);
  }

  /** A notebook has another path now, or all notebooks of a folder. */
  private _rename(from: string, to: string): void {
    const moved = (path: string): string =>
      path === from || path.startsWith(`${from}/`)
        ? to + path.slice(from.length)
        : path;
    const before = [...this._stored];
    this._stored = new Map(before.map(([path, own]) => [moved(path), own]));
    if (this._shown) {
      this._shown.path = moved(this._shown.path);
    }
    if (before.some(([path]) => moved(path) !== path)) {
      this._save();
    }
  }

  private _save(): void {
    for (const path of [...this._stored.keys()].slice(0, -MOST)) {
      this._stored.delete(path);
    }
    // a page that can't save them has them as long as it is open
    this._state.save(KEY, [...this._stored]).catch(() => undefined);
  }

  /** Path of a notebook → its expressions; the notebook that was changed last is the last one. */
  private _stored = new Map<string, string[]>();
  private _shown: INotebook | null = null;
  private _loaded = false;
}

/** A path without the name of its drive, which sessions leave out. */
function localPath(path: string): string {
  return path.slice(path.indexOf(':') + 1);
}
