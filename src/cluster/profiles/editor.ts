import { Dialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import { wrapsBack } from '../dialogs/formDialog';
import { NamedDialog } from '../../ui/dialog';

/** What the editor of a profile shows. */
export interface IEdited {
  text: string;
  /** Its error; empty for none. */
  error: string;
  /** All keys that a profile may have; empty if not known. */
  keys: string;
}

/** Where the caret was, and how far the text was scrolled. */
interface IPlace {
  start: number;
  end: number;
  top: number;
}

/** A profile's file as text, with its error above and all keys below. */
export class Editor extends Widget implements Dialog.IBodyWidget<string> {
  /**
   * @param before - the editor that was closed, whose caret and list of keys this one takes over
   */
  constructor(
    { text, error, keys }: IEdited,
    private _trans: TranslationBundle,
    before: Editor | null = null
  ) {
    super();
    this.addClass('jp-DtrainCluster-profileText');
    this._area.value = text;
    this._area.spellcheck = false;
    this._area.rows = 18;
    this._area.className = 'jp-mod-styled';
    this._area.setAttribute('aria-label', _trans.__('The profile, as TOML'));
    this._area.addEventListener('input', () => this._note());
    this._area.addEventListener('scroll', () => this._note());
    this._area.addEventListener('blur', () => this._note());
    this._place = before?._place ?? { start: 0, end: 0, top: 0 };
    this.node.append(this._area);
    if (error) {
      const wrong = document.createElement('p');
      wrong.setAttribute('role', 'alert');
      wrong.className = 'jp-DtrainCluster-wrong';
      wrong.textContent = error;
      this.node.prepend(wrong);
    }
    if (keys) {
      this._addKeys(keys, before?._showsKeys ?? false);
    }
  }

  getValue(): string {
    return this._area.value;
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    const { start, end, top } = this._place;
    this._area.setSelectionRange(start, end);
    this._area.scrollTop = top;
  }

  /** Once the dialog is closed, the field no longer tells. */
  private _note(): void {
    const { selectionStart, selectionEnd, scrollTop } = this._area;
    this._place = { start: selectionStart, end: selectionEnd, top: scrollTop };
  }

  private _addKeys(keys: string, shown: boolean): void {
    const toggle = document.createElement('button');
    toggle.type = 'button';
    toggle.className = 'jp-DtrainUi-link';
    const list = document.createElement('pre');
    list.textContent = keys;
    list.tabIndex = 0; // scrolled by keyboard, too
    list.setAttribute('role', 'region');
    list.setAttribute('aria-label', this._trans.__('All keys of a profile'));
    const show = (shows: boolean): void => {
      this._showsKeys = shows;
      list.hidden = !shows;
      toggle.setAttribute('aria-expanded', String(shows));
      toggle.textContent = shows
        ? this._trans.__('Hide all keys')
        : this._trans.__('Show all keys, as in the user guide');
    };
    toggle.addEventListener('click', () => show(!this._showsKeys));
    show(shown);
    this.node.append(toggle, list);
  }

  private _area = document.createElement('textarea');
  private _place: IPlace;
  private _showsKeys = false;
}

/** What a profile's dialog was closed with. */
export type Ended = 'cancel' | 'delete' | 'save';

/** A dialog with the text of a profile, in which Enter is a new line. */
export class ProfileDialog extends NamedDialog<string> {
  /**
   * @param deletes - whether the profile can be deleted
   */
  constructor(
    name: string,
    private _editor: Editor,
    deletes: boolean,
    trans: TranslationBundle
  ) {
    super({
      title: trans.__('Profile %1', name),
      body: _editor,
      focusNodeSelector: 'textarea',
      buttons: [
        ...(deletes
          ? [
              Dialog.createButton({
                label: trans.__('Delete…'),
                caption: trans.__('Delete the profile %1', name),
                className: 'jp-DtrainCluster-deletes',
                accept: false,
                actions: [DELETES],
                displayType: 'warn'
              })
            ]
          : []),
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        Dialog.okButton({ label: trans.__('Save') })
      ]
    });
    this.addClass('jp-DtrainCluster-profileDialog');
  }

  /** Ask, until the dialog is closed by a button, Escape or a click outside. */
  async ended(): Promise<Ended> {
    const { button } = await this.launch();
    if (button.accept) {
      return 'save';
    }
    return button.actions.includes(DELETES) ? 'delete' : 'cancel';
  }

  override handleEvent(event: Event): void {
    const enters =
      event instanceof KeyboardEvent &&
      event.type === 'keydown' &&
      event.key === 'Enter' &&
      this._editor.node.contains(event.target as Node);
    // JupyterLab would press a button of the dialog
    if (!enters && !wrapsBack(this.node, event)) {
      super.handleEvent(event);
    }
  }
}

const DELETES = 'delete';
