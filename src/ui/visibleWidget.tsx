import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { IDisposable } from '@lumino/disposable';
import { Message } from '@lumino/messaging';
import React from 'react';

import { ViewStateContext, ViewState, useViewScroll } from './viewState';
import { ErrorBoundary } from './errorBoundary';

/**
 * A widget that is drawn, and requests frames, only while it is visible. The user's choices persist
 * (`useViewState`).
 */
export abstract class VisibleWidget extends ReactWidget {
  /**
   * @param _watch - requests frames from when it is visible until it is hidden; null where it needs none
   */
  constructor(
    private _watch: () => IDisposable | null,
    private _words: TranslationBundle
  ) {
    super();
    this.addClass('jp-Dtrain');
    this.node.setAttribute('role', 'region');
    this.node.tabIndex = -1;
    this.node.addEventListener('focusin', event => {
      this._focused = event.target as Element;
    });
    this.node.addEventListener('focusout', event => {
      if (event.relatedTarget) {
        this._focused = null;
      }
    });
    this._changes.observe(this.node, { childList: true, subtree: true });
  }

  override dispose(): void {
    this._changes.disconnect();
    this._watching?.dispose();
    super.dispose();
  }

  /** The user's choices, by name. */
  protected readonly choices = new ViewState();

  /** What it shows. */
  protected abstract draw(): JSX.Element;

  /** Whether it is drawn now; a form stays drawn while it is hidden. */
  protected get drawn(): boolean {
    return this._shown;
  }

  protected render(): JSX.Element | null {
    return this.drawn ? (
      <ViewStateContext.Provider value={this.choices}>
        <ErrorBoundary trans={this._words}>
          <Drawn node={this.node}>{this.draw()}</Drawn>
        </ErrorBoundary>
      </ViewStateContext.Provider>
    ) : null;
  }

  /** The focused element is gone, such as dismissed advice: keep the focus in the view. */
  protected focusAgain(): void {
    this.node.focus({ preventScroll: true });
  }

  /** Called when something in it was drawn or removed. */
  protected onDrawn(): void {
    const { activeElement, body } = document;
    if (
      this._focused &&
      !this._focused.isConnected &&
      (!activeElement || activeElement === body)
    ) {
      this._focused = null;
      this.focusAgain();
    }
  }

  /** Focus the widget in front; only then JupyterLab regards it as the current view. */
  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    if (!this.node.contains(document.activeElement)) {
      this.node.focus({ preventScroll: true });
    }
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._setShown(true);
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._setShown(false);
  }

  protected override onCloseRequest(message: Message): void {
    super.onCloseRequest(message);
    // otherwise its tracker would return a widget that is no longer in the shell
    this.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._setShown(this.isVisible);
  }

  protected override onBeforeDetach(message: Message): void {
    this._setShown(false);
    super.onBeforeDetach(message);
  }

  private _setShown(seen: boolean): void {
    this._shown = seen;
    if (seen) {
      this._watching ??= this._watch();
    } else {
      this._watching?.dispose();
      this._watching = null;
    }
    this.update();
  }

  private _changes = new MutationObserver(() => this.onDrawn());
  private _focused: Element | null = null;
  private _shown = false;
  private _watching: IDisposable | null = null;
}

/** The content of the widget, scrolled to its previous position. */
function Drawn(props: {
  node: HTMLElement;
  children: React.ReactNode;
}): JSX.Element {
  useViewScroll('view', () => props.node);
  return <>{props.children}</>;
}
