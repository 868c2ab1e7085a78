import { CLASSES } from '../../jupyterlab/markup';

/** Ms after a key press in which the notebook can't take the focus by itself. */
const STAY = 2000;
const DOCUMENT = `.${CLASSES.document}`;

/**
 * Keep the keyboard in a section of the debugger's sidebar.
 *
 * When a rank's stack arrives, JupyterLab activates its notebook, and so moves the focus there. A user who
 * has just chosen a rank by keyboard wants to choose the next one, so the focus is moved back, unless the
 * user has moved it: by Tab, by a shortcut or by the mouse.
 */
export class KeyboardFocus {
  constructor(private _node: HTMLElement) {
    _node.addEventListener('focusout', this);
    document.addEventListener('keydown', this, true);
    document.addEventListener('pointerdown', this, true);
  }

  dispose(): void {
    this._node.removeEventListener('focusout', this);
    document.removeEventListener('keydown', this, true);
    document.removeEventListener('pointerdown', this, true);
  }

  handleEvent(event: Event): void {
    switch (event.type) {
      case 'keydown':
        this._until = this._stays(event as KeyboardEvent)
          ? event.timeStamp + STAY
          : 0;
        break;
      case 'pointerdown':
        this._until = 0;
        break;
      case 'focusout':
        this._left(event as FocusEvent);
    }
  }

  /** Whether this key is used to work in the section. */
  private _stays(event: KeyboardEvent): boolean {
    const shortcut = event.ctrlKey || event.altKey || event.metaKey;
    return (
      !shortcut &&
      event.key !== 'Tab' &&
      event.key !== 'Escape' &&
      this._node.contains(event.target as Node)
    );
  }

  private _left(event: FocusEvent): void {
    const to = event.relatedTarget as Element | null;
    const from = event.target as HTMLElement;
    if (!to?.closest(DOCUMENT) || event.timeStamp > this._until) {
      return;
    }
    // the notebook passes it to its cell first
    requestAnimationFrame(() => {
      if (
        from.isConnected &&
        document.activeElement?.closest(DOCUMENT) &&
        this._until
      ) {
        from.focus();
      }
    });
  }

  private _until = 0;
}
