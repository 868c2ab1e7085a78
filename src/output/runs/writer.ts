/** Where pages tell each other what they do: a shared document's awareness. */
export interface IAwareness {
  readonly clientID: number;
  getStates: () => Map<number, Record<string, unknown>>;
  setLocalStateField: (field: string, value: unknown) => void;
  on: (name: 'change', hear: (change: IPages) => void) => void;
  off: (name: 'change', hear: (change: IPages) => void) => void;
}

/** Numbers of pages that have come, and that have gone. */
export interface IPages {
  added: readonly number[];
  removed: readonly number[];
}

/** What a document tells of changes to it: ours, or those of another page. */
export interface IChanges {
  on: (name: string, hear: (change: { local: boolean }) => void) => void;
  off: (name: string, hear: (change: { local: boolean }) => void) => void;
}

/** A notebook that several pages may show at once. */
export interface ISharedNotebook {
  awareness?: IAwareness;
  ydoc?: IChanges;
}

const FIELD = 'dtrain';
/** Messages that a page is known by; of more, the first ones are forgotten. */
const MOST = 100;
/** For another page to say that a run is its own, ms. */
export const PATIENCE = 3000;

/**
 * Which page writes what a run has put out, where several people have the notebook open.
 *
 * Two pages that replace an output at the same time leave both of theirs in the document, or neither. So the page
 * that has run a cell writes; once that one is closed, the one with the lowest number of those that are left.
 */
export class Writers {
  /**
   * @param notebook - null where no other page can have it open as the same document
   * @param moved - a page has come or gone
   * @param now - ms
   */
  constructor(
    private _notebook: ISharedNotebook | null,
    private _moved: () => void,
    private _now: () => number = Date.now
  ) {
    this._awareness?.on('change', this._changed);
    this._notebook?.ydoc?.on('beforeObserverCalls', this._begins);
    this._notebook?.ydoc?.on('afterTransaction', this._ends);
    this._tell();
  }

  /** Is the change that the document tells of now another page's? */
  get isForeign(): boolean {
    return this._foreign;
  }

  dispose(): void {
    this._awareness?.off('change', this._changed);
    this._notebook?.ydoc?.off('beforeObserverCalls', this._begins);
    this._notebook?.ydoc?.off('afterTransaction', this._ends);
  }

  /** This page has run a cell by this message. */
  claim(request: string): void {
    if (this._awareness && !this._claims.includes(request)) {
      this._claims = [...this._claims, request].slice(-MOST);
      this._tell();
    }
  }

  /** Another page has run that cell since. */
  release(request: string): void {
    this._claims = this._claims.filter(claim => claim !== request);
    this._tell();
  }

  /**
   * Does this page write what a run has put out? Where that is not sure yet it does not: ask again later.
   *
   * @param run - its id, or whatever else stands for it
   * @param request - the message by which a page has run it; null where that is not known
   */
  writes(run: string, request: string | null): boolean {
    if (!this._awareness) {
      return true;
    }
    if (request && this._claims.includes(request)) {
      return true;
    }
    const { clientID } = this._awareness;
    const isFirst = this._others().every(([id]) => id > clientID);
    if (!isFirst || this.isClaimed(request)) {
      this._since.delete(run);
      return false;
    }
    const since = this._since.get(run) ?? this._now();
    this._since.set(run, since);
    return this._now() - since >= PATIENCE;
  }

  /** May this page come to write it, once others have had time to say that they do? */
  isUnsure(run: string): boolean {
    return this._since.has(run);
  }

  /** Has another page, which is still open, run a cell by this message? */
  isClaimed(request: string | null): boolean {
    return this._others().some(
      ([, claims]) => request !== null && claims.includes(request)
    );
  }

  /** Pages that have this notebook open with this extension, and the messages by which they have run cells. */
  private _others(): [number, readonly string[]][] {
    const states = [...(this._awareness?.getStates() ?? [])];
    return states
      .filter(
        ([id, state]) => id !== this._awareness?.clientID && FIELD in state
      )
      .map(([id, state]) => [id, state[FIELD] as string[]]);
  }

  private get _awareness(): IAwareness | undefined {
    return this._notebook?.awareness;
  }

  private _tell(): void {
    this._awareness?.setLocalStateField(FIELD, this._claims);
  }

  /** A page that comes is told of by the server, and is not told of those that are there. */
  private _changed = ({ added, removed }: IPages): void => {
    if (added.some(id => id !== this._awareness?.clientID)) {
      this._tell();
    }
    if (added.length || removed.length) {
      this._moved();
    }
  };

  private _begins = ({ local }: { local: boolean }): void => {
    this._foreign = !local;
  };

  private _ends = (): void => {
    this._foreign = false;
  };

  /** Messages by which this page has run cells. */
  private _claims: string[] = [];
  private _foreign = false;
  /** Run → since when it looks as if it were this page's to write, ms. */
  private _since = new Map<string, number>();
}
