import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Message } from '@lumino/messaging';
import React from 'react';

import { ViewStateContext, ViewState, useViewScroll } from './viewState';
import { ErrorBoundary } from './errorBoundary';

/** A widget that is drawn, and asks for frames, only while it is seen. What was chosen in it stays (`useViewState`). */
export abstract class VisibleWidget extends ReactWidget {
  /**
   * @param look - told with the widget's id when it comes into view, and when it goes.
   */
  constructor(
    private _look: (seen: boolean, viewer: string) => void,
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
    super.dispose();
  }

  /** What it shows. */
  protected abstract draw(): JSX.Element;

  /** Is it drawn now? A form stays as it is while it is hidden. */
  protected get drawn(): boolean {
    return this._seen;
  }

  protected render(): JSX.Element | null {
    return this.drawn ? (
      <ViewStateContext.Provider value={this._kept}>
        <ErrorBoundary trans={this._words}>
          <Drawn node={this.node}>{this.draw()}</Drawn>
        </ErrorBoundary>
      </ViewStateContext.Provider>
    ) : null;
  }

  /** What had the focus is gone, as advice that was dismissed: the keyboard stays in the view. */
  protected focusAgain(): void {
    this.node.focus({ preventScroll: true });
  }

  /** Something in it was drawn, or is gone. */
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

  /** Keys go to what is in front; JupyterLab, too, takes it for the current view only then. */
  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    if (!this.node.contains(document.activeElement)) {
      this.node.focus({ preventScroll: true });
    }
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._setSeen(true);
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._setSeen(false);
  }

  protected override onCloseRequest(message: Message): void {
    super.onCloseRequest(message);
    // else its tracker would find it again, with no place to show it
    this.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._setSeen(this.isVisible);
  }

  protected override onBeforeDetach(message: Message): void {
    this._setSeen(false);
    super.onBeforeDetach(message);
  }

  private _setSeen(seen: boolean): void {
    this._seen = seen;
    this._look(seen, this.id);
    this.update();
  }

  private _changes = new MutationObserver(() => this.onDrawn());
  private _focused: Element | null = null;
  private _kept = new ViewState();
  private _seen = false;
}

/** What stands in the widget, which is scrolled to where it was. */
function Drawn(props: {
  node: HTMLElement;
  children: React.ReactNode;
}): JSX.Element {
  useViewScroll('view', () => props.node);
  return <>{props.children}</>;
}
