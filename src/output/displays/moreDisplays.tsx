import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import React from 'react';

/** Button below the displays of ranks for those that are not displayed yet. */
export class MoreDisplays extends ReactWidget {
  constructor(
    private _trans: TranslationBundle,
    private _all: () => void
  ) {
    super();
    this.addClass('jp-DtrainOutput-more');
    this.hide();
  }

  /** Number of displays not displayed yet. */
  set count(count: number) {
    this._count = count;
    this.setHidden(!count);
    this.update();
  }

  protected render(): JSX.Element | null {
    return this._count ? (
      <button
        type="button"
        className="jp-DtrainOutput-button"
        onClick={this._all}
      >
        {this._trans.__('Show %1 more', this._count)}
      </button>
    ) : null;
  }

  private _count = 0;
}
