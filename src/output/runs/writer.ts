/** The awareness of a shared document, through which pages inform each other. */
export interface IAwareness {
  readonly clientID: number;
  getStates: () => Map<number, Record<string, unknown>>;
  setLocalStateField: (field: string, value: unknown) => void;
  on: (name: 'change', hear: (change: IPages) => void) => void;
  off: (name: 'change', hear: (change: IPages) => void) => void;
}

/** Client ids of the pages that were opened, and of those that were closed. */
export interface IPages {
  added: readonly number[];
  removed: readonly number[];
}

/** A change event of a document: from this page or from another one. */
export interface IChanges {
  on: (name: string, hear: (change: { local: boolean }) => void) => void;
  off: (name: string, hear: (change: { local: boolean }) => void) => void;
}

/** A notebook that several pages may display at the same time. */
export interface ISharedNotebook {
  awareness?: IAwareness;
  ydoc?: IChanges;
}

const FIELD = 'dtrain';
/** Maximum number of messages per page; older ones are forgotten. */
const MOST = 100;
/** Time for another page to claim a run, ms. */
export const PATIENCE = 3000;

/**
 * Decides which page writes the output of a run if several people have the notebook open.
 *
 * If two pages replace an output at the same time, the document contains both results or none. So the page
 * that ran a cell writes; once it is closed, the remaining page with the lowest number.
 */
export class Writers {
  /**
   * @param notebook - null if no other page can have the same document open
   * @param moved - called when a page was opened or closed
   * @param now - current time, ms
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

  /** Whether the current change of the document is from another page. */
  get isForeign(): boolean {
    return this._foreign;
  }

  dispose(): void {
    this._awareness?.off('change', this._changed);
    this._notebook?.ydoc?.off('beforeObserverCalls', this._begins);
    this._notebook?.ydoc?.off('afterTransaction', this._ends);
  }

  /** Note that this page has run a cell by this message. */
  claim(request: string): void {
    if (this._awareness && !this._claims.includes(request)) {
      this._claims = [...this._claims, request].slice(-MOST);
      this._tell();
    }
  }

  /** Note that another page has run that cell since. */
  release(request: string): void {
    this._claims = this._claims.filter(claim => claim !== request);
    this._tell();
  }

  /**
   * Whether this page writes the output of a run; false while that is uncertain, so ask again later.
   *
   * @param run - its id, or another key
   * @param request - the message by which a page has run it; null if unknown
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

  /** Whether this page may become the writer, after others have had time to claim the run. */
  isUnsure(run: string): boolean {
    return this._since.has(run);
  }

  /** Whether another open page has run a cell by this message. */
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

  /** The server announces a new page to the others, but not the others to it. */
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
  /** Run → since when this page seems to be its writer, ms. */
  private _since = new Map<string, number>();
}
