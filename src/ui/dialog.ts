import { Dialog } from '@jupyterlab/apputils';

import { CLASSES } from '../jupyterlab/markup';

/** JupyterLab's dialog, named by its title for screen readers; the opening double click doesn't close it. */
export class NamedDialog<T> extends Dialog<T> {
  constructor(options: Partial<Dialog.IOptions<T>>) {
    super(options);
    const id = `jp-DtrainUi-dialog-${NamedDialog._made++}`;
    this._refer('aria-labelledby', CLASSES.dialogHeader, `${id}-title`);
    if (typeof options.body === 'string') {
      // JupyterLab's name for it is title and text in one
      this.node.removeAttribute('aria-label');
      this._refer('aria-describedby', CLASSES.dialogBody, `${id}-text`);
    }
  }

  /** Ignore the second press of a double click that opened the dialog: it would close it. */
  override handleEvent(event: Event): void {
    const again =
      event instanceof MouseEvent &&
      event.detail > 1 &&
      !this.node
        .querySelector(`.${CLASSES.dialogContent}`)
        ?.contains(event.target as Node);
    if (again && (event.type === 'mousedown' || event.type === 'click')) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    super.handleEvent(event);
  }

  private _refer(attribute: string, className: string, id: string): void {
    const part = this.node.querySelector(`.${className}`);
    if (part) {
      part.id = id;
      this.node.setAttribute(attribute, id);
    }
  }

  private static _made = 0;
}

/** Open a dialog; use it instead of JupyterLab's `showDialog`. */
export function openDialog<T>(
  options: Partial<Dialog.IOptions<T>>
): Promise<Dialog.IResult<T>> {
  return new NamedDialog(options).launch();
}
