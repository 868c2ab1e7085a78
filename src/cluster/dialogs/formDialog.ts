import { Dialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { acceptButton, CLASSES } from '../../jupyterlab/markup';
import { NamedDialog } from '../../ui/dialog';

/** Errors of a form by field; '' for the form as a whole. */
export type Faults = Record<string, string>;

/** The fields of a dialog in one column, each with its label and its error. */
export abstract class FormBody<T>
  extends Widget
  implements Dialog.IBodyWidget<T>
{
  constructor() {
    super();
    this.addClass('jp-DtrainCluster-form');
    this.node.append(this._whole);
    this._whole.className = 'jp-DtrainCluster-wrong';
    this._whole.setAttribute('role', 'alert');
    this._whole.hidden = true;
  }

  abstract getValue(): T;

  /** Errors that can be detected without the server. */
  abstract faults(): Faults;

  /** Show errors beside their fields, and focus the first one. */
  tell(faults: Faults): void {
    const rest = { ...faults };
    let first: HTMLElement | null = null;
    for (const [name, { field }] of this._rows) {
      const text = rest[name] ?? '';
      delete rest[name];
      this.showFault(name, text);
      first ??= text ? field : null;
    }
    this._showWhole(Object.values(rest).join(' '));
    first?.focus();
  }

  /** Show the error of a field, or none, without moving the focus. */
  protected showFault(name: string, text: string): void {
    const row = this._rows.get(name);
    if (row) {
      row.fault.textContent = text;
      row.fault.hidden = !text;
      row.field.setAttribute('aria-invalid', String(!!text));
    }
  }

  private _showWhole(text: string): void {
    this._whole.textContent = text;
    this._whole.hidden = !text;
  }

  /** Add a field below the others. */
  protected add<F extends HTMLInputElement | HTMLSelectElement>(
    name: string,
    label: string,
    field: F
  ): F {
    const id = `jp-DtrainCluster-form-${FormBody._made++}`;
    const row = document.createElement('div');
    const caption = document.createElement('label');
    const fault = document.createElement('p');
    field.id = caption.htmlFor = id;
    field.dataset.field = name;
    field.classList.add('jp-mod-styled');
    caption.textContent = label;
    fault.id = `${id}-fault`;
    fault.hidden = true;
    field.setAttribute('aria-describedby', fault.id);
    field.addEventListener('input', () => {
      this.showFault(name, '');
      this._showWhole('');
    });
    row.append(caption, field, fault);
    this.node.append(row);
    this._rows.set(name, { field, fault });
    return field;
  }

  private static _made = 0;
  private _whole = document.createElement('p');
  private _rows = new Map<string, { field: HTMLElement; fault: HTMLElement }>();
}

/**
 * Go from the first field of a dialog to its last button at Shift+Tab; JupyterLab's stays at the field.
 *
 * @returns whether the event was that one
 */
export function wrapsBack(dialog: HTMLElement, event: Event): boolean {
  const first = dialog.querySelector('input, select, textarea');
  if (
    !(event instanceof KeyboardEvent) ||
    event.type !== 'keydown' ||
    event.key !== 'Tab' ||
    !event.shiftKey ||
    document.activeElement !== first
  ) {
    return false;
  }
  event.preventDefault();
  event.stopPropagation();
  const buttons = dialog.querySelectorAll<HTMLElement>(
    `.${CLASSES.dialogButton}`
  );
  buttons[buttons.length - 1]?.focus();
  return true;
}

/** Change what a dialog's button says, to people who see it and to those who hear it. */
export function setLabel(button: HTMLElement, text: string): void {
  button.setAttribute('aria-label', text);
  const label = button.querySelector(`.${CLASSES.dialogButtonLabel}`);
  if (label) {
    label.textContent = text;
  }
}

/** A dialog that stays open, with its contents, until its action succeeds. */
export class FormDialog<T> extends NamedDialog<T> {
  /**
   * @param accept - label of the button that runs the action
   * @param attempt - runs the action; resolves with its errors, null for none. Its argument tells whether the
   * user has cancelled meanwhile
   * @param doing - label of the button while the action runs
   */
  constructor(
    title: string,
    private _form: FormBody<T>,
    accept: string,
    private _attempt: (
      value: T,
      hasGivenUp: () => boolean
    ) => Promise<Faults | null>,
    trans: TranslationBundle,
    private _doing = accept
  ) {
    super({
      title,
      body: _form,
      focusNodeSelector: '[aria-invalid="true"], input, select',
      buttons: [
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        Dialog.okButton({ label: accept })
      ]
    });
  }

  override handleEvent(event: Event): void {
    if (wrapsBack(this.node, event)) {
      return;
    }
    super.handleEvent(event);
  }

  override resolve(index = ACCEPT): void {
    if (index !== ACCEPT) {
      this._hasGivenUp = true;
      super.resolve(index);
      return;
    }
    const faults = this._form.faults();
    if (Object.keys(faults).length) {
      this._form.tell(faults);
    } else if (!this._busy) {
      void this._try();
    }
  }

  /** Escape, the ×, or a click outside, for which JupyterLab bypasses `resolve`. */
  override reject(): void {
    this._hasGivenUp = true;
    super.reject();
  }

  private async _try(): Promise<void> {
    let faults: Faults | null;
    this._setBusy(true);
    this._form.tell({});
    try {
      faults = await this._attempt(
        this._form.getValue(),
        () => this._hasGivenUp
      );
    } catch (error) {
      faults = { '': error instanceof Error ? error.message : String(error) };
    }
    if (this.isDisposed || this._hasGivenUp) {
      return;
    }
    this._setBusy(false);
    if (faults) {
      this._form.tell(faults);
    } else {
      super.resolve(ACCEPT);
    }
  }

  /** Show progress at the button, and disable the fields. */
  private _setBusy(busy: boolean): void {
    this._busy = busy;
    const button = acceptButton(this.node);
    if (button) {
      this._label ??= button.textContent ?? '';
      setLabel(button, busy ? this._doing : this._label);
      button.setAttribute('aria-disabled', String(busy));
      button.classList.toggle('jp-DtrainCluster-busy', busy);
    }
    this._form.node.inert = busy;
    this._form.node.setAttribute('aria-busy', String(busy));
  }

  private _busy = false;
  private _hasGivenUp = false;
  private _label: string | null = null;
}

const ACCEPT = 1;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Error of a cluster's or profile's name; null for none. */
export function nameFault(
  name: string,
  trans: TranslationBundle
): string | null {
  return NAME.test(name)
    ? null
    : trans.__(
        '"%1" can\'t be a name. Use up to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit.',
        name
      );
}

/** Error of a number of ranks; null for none. */
export function countFault(
  text: string,
  trans: TranslationBundle
): string | null {
  if (!/^[+-]?\d+$/.test(text)) {
    return trans.__('"%1" is not a whole number.', text);
  }
  return Number(text) < 1
    ? trans.__('%1 is too low. Enter %2 or more.', text, 1)
    : null;
}
