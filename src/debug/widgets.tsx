import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import React from 'react';

import { Across } from './across';
import { Breakpoints } from './breakpoints';
import { KeyboardFocus } from './focus';
import { DebugModel, SetBreakpoint } from './model';
import { Ranks } from './ranks';

/** What both sections need. */
export interface IDebugWidgets {
  model: DebugModel;
  debug: IDebugger;
  tracker: INotebookTracker;
  trans: TranslationBundle;
  onError: (error: unknown) => void;
}

/** A section of the debugger's sidebar. */
abstract class Section extends ReactWidget {
  constructor(protected args: IDebugWidgets) {
    super();
    this.addClass('jp-Dtrain');
    this.addClass('jp-Dtrain-debug');
    this.node.setAttribute('role', 'region');
    args.model.changed.connect(this._changed, this);
    this._focus = new KeyboardFocus(this.node);
  }

  override dispose(): void {
    this._focus.dispose();
    super.dispose();
  }

  private _changed(): void {
    this.update();
  }

  private _focus: KeyboardFocus;
}

/** The ranks, and their breakpoints. */
export class RanksSection extends Section {
  constructor(args: IDebugWidgets) {
    super(args);
    this.id = 'dtrain-debug-ranks';
    this.title.label = args.trans.__('Ranks');
    this.node.setAttribute('aria-label', args.trans.__('Ranks'));
  }

  protected render(): JSX.Element {
    const { model, trans, onError } = this.args;
    const { view } = model;
    if (!view) {
      return (
        <p className="jp-Dtrain-under">
          {trans.__(
            'Ranks appear here with the debugger on (the bug in the notebook’s toolbar) and a distributed cell.'
          )}
        </p>
      );
    }
    return (
      <>
        <Ranks model={model} view={view} trans={trans} onError={onError} />
        <Breakpoints
          model={model}
          points={view.points}
          nameOf={point => this._nameOf(point)}
          trans={trans}
        />
      </>
    );
  }

  /** A cell by its number where the notebook still has that text; a file by its name. */
  private _nameOf(point: SetBreakpoint): string {
    const { debug, tracker, trans } = this.args;
    const path = debug.session?.connection?.path;
    const kernel = debug.session?.connection?.kernel?.name ?? '';
    const panel = tracker.find(p => p.sessionContext.session?.path === path);
    const cell = panel?.content.widgets.find(
      c =>
        c.model.type === 'code' &&
        debug.config.getCodeId(c.model.sharedModel.getSource(), kernel) ===
          point.path
    );
    if (cell) {
      const count = cell.model.sharedModel.toJSON().execution_count;
      return trans.__(
        'cell [%1]:%2',
        typeof count === 'number' ? count : ' ',
        point.line
      );
    }
    return `${point.path.slice(point.path.lastIndexOf('/') + 1)}:${point.line}`;
  }
}

/** Expressions over all ranks. */
export class AcrossSection extends Section {
  constructor(args: IDebugWidgets) {
    super(args);
    this.id = 'dtrain-debug-across';
    this.title.label = args.trans.__('Across Ranks');
    this.node.setAttribute('aria-label', args.trans.__('Across Ranks'));
  }

  protected render(): JSX.Element {
    const { model, trans, onError } = this.args;
    return <Across model={model} trans={trans} onError={onError} />;
  }
}
