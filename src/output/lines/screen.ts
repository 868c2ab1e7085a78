const TOKEN = /\n|\r|\u001b\[(\d*)A|(?:[^\n\r\u001b]|\u001b(?!\[\d*A))+/g;
const UP = /\u001b\[\d*A/;
const CUT = /\u001b(?:\[\d*)?$/;
/** Rows by which the cursor moves up at most: on any screen it stops at the top. */
const MOST_UP = 100;

/** Whether a text overwrites what was printed before; "\r\n" is a line feed. */
export function overwrites(text: string): boolean {
  return text.includes('\r') || UP.test(text);
}

/**
 * The end of a rank's stream as a terminal shows it: lines that are still overwritten, one below another, and the
 * cursor.
 *
 * A nested progress bar (tqdm's `position`) is drawn with a line feed, the bar, and "cursor up", each of which may
 * arrive by itself. So a line feed after a bar ends it only if the cursor does not return. The kernel has the same
 * for output that arrives (`cells/screen.py`); both are tested by the cases of `tests/unit/golden/screen.json`.
 */
export class Screen {
  /** Whether nothing is overwritten: what is left is the beginning of an ordinary line. */
  get isPlain(): boolean {
    return !(this._bars.size || this._at || this._returns || this._cut);
  }

  /** The lines that may still be overwritten, without empty ones. */
  get bars(): string[] {
    return this._rows.filter(row => row.trim());
  }

  /** The beginning of an ordinary line, if `isPlain`. */
  get rest(): string {
    return this._rows[0];
  }

  /**
   * Print text, which may end anywhere.
   *
   * @returns lines that are not overwritten any more.
   */
  feed(added: string): string[] {
    const text = this._cut + added;
    this._cut = CUT.exec(text)?.[0] ?? '';
    const whole = text.slice(0, text.length - this._cut.length);
    for (const [token, up] of whole.matchAll(TOKEN)) {
      if (token === '\n') {
        this._lineFeed();
      } else if (token === '\r') {
        if (this._drawn) {
          // drawn again where it is: nothing returns to the lines above
          this._endAbove();
        }
        this._returns = true;
      } else if (up !== undefined) {
        this._up(Math.min(MOST_UP, Number(up || 1)));
      } else {
        this._print(token);
      }
    }
    return this._take();
  }

  /** End the lines above the cursor; returns them. */
  settle(): string[] {
    this._endAbove();
    return this._take();
  }

  private _take(): string[] {
    return this._done.splice(0);
  }

  private _print(text: string): void {
    const visible = text.trim() !== '';
    if (visible && !this._returns && !this._drawn) {
      this._endAbove();
    }
    if (this._returns) {
      this._rows[this._at] = text;
      this._bars.add(this._at);
      this._returns = false;
    } else {
      this._rows[this._at] += text;
    }
    if (visible) {
      this._drawn = true;
    } else if (this._rows.length === 1 && !this._rows[0].trim()) {
      if (this._bars.size) {
        // the bar was removed
        this._bars.clear();
        this._rows[0] = '';
      }
    }
  }

  private _lineFeed(): void {
    if (this._drawn) {
      this._endAbove();
    }
    this._drawn = this._returns = false;
    if (!this._bars.size && this._rows[0]) {
      this._done.push(this._rows[0]);
      this._rows[0] = '';
      return;
    }
    this._at++;
    if (this._at === this._rows.length) {
      this._rows.push('');
    }
  }

  private _up(rows: number): void {
    const above = rows - this._at;
    if (above > 0 && this._bars.size) {
      // of a bar whose first line feed was taken for the end of a line
      this._rows.unshift(...Array<string>(above).fill(''));
      this._bars = new Set([...this._bars].map(row => row + above));
    }
    this._at = Math.max(0, this._at - rows);
    this._drawn = this._returns = false;
    while (
      this._rows.length > this._at + 1 &&
      !this._rows[this._rows.length - 1].trim()
    ) {
      this._rows.pop();
      this._bars.delete(this._rows.length);
    }
  }

  private _endAbove(): void {
    const above = this._rows.splice(0, this._at);
    this._done.push(
      ...above.filter((row, i) => row.trim() || !this._bars.has(i))
    );
    this._bars = new Set(
      [...this._bars].map(row => row - this._at).filter(row => row >= 0)
    );
    this._at = 0;
  }

  /** The cursor's row. */
  private _at = 0;
  /** Rows that were overwritten. */
  private _bars = new Set<number>();
  /** The beginning of an escape sequence. */
  private _cut = '';
  private _done: string[] = [];
  /** Whether something was printed in the cursor's row since it came to it. */
  private _drawn = false;
  /** Whether the next text replaces the row's. */
  private _returns = false;
  private _rows = [''];
}
