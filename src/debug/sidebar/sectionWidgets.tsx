import { IDebugger } from '@jupyterlab/debugger';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import React from 'react';

import { showBreakpoint } from '../../jupyterlab/debuggerService';
import { ILiveState } from '../../tokens';
import { CompareValues } from './compareValues';
import { Breakpoints } from './breakpoints';
import { KeyboardFocus } from './keyboardFocus';
import { DebugModel, SetBreakpoint } from '../model/model';
import { CellNames, runningOf } from '../model/cellNames';
import { beforeRanks } from '../model/texts';
import { pointsOf } from '../model/breakpoints';
import { areAnyHeld, ITakeOver, withAlarm, worldOf } from '../model/world';
import { Ranks } from './ranks';

/** Dependencies of both sections. */
export interface IDebugWidgets {
  model: DebugModel;
  debug: IDebugger;
  /** Breakpoints that ask something, as the page keeps them. */
  unreported: () => readonly SetBreakpoint[];
  /** Source of a running cell's number, of stuck ranks, and of a job's name. */
  clusters: ILiveState;
  names: CellNames;
  takeOver: ITakeOver;
  trans: TranslationBundle;
  onError: (error: unknown) => void;
}

/** A section of the debugger's sidebar. */
abstract class Section extends ReactWidget {
  constructor(protected args: IDebugWidgets) {
    super();
    this.addClass('jp-Dtrain');
    this.addClass('jp-DtrainDebug');
    this.node.setAttribute('role', 'region');
    args.model.changed.connect(this.changed, this);
    this._focus = new KeyboardFocus(this.node);
  }

  override dispose(): void {
    this._focus.dispose();
    super.dispose();
  }

  /** Called with its content element once it is drawn, and whenever that is another element. */
  onContent: (content: HTMLElement) => void = () => undefined;

  protected abstract content(): JSX.Element | null;

  protected render(): JSX.Element {
    return (
      <div
        className="jp-DtrainDebug-content"
        ref={element => {
          if (element) {
            this.onContent(element);
          }
        }}
      >
        {this.content()}
      </div>
    );
  }

  protected changed(): void {
    this.update();
  }

  /** Is also notified when cells start and end, and when ranks are stuck. */
  protected followCells(): void {
    this.args.clusters.changed.connect(this._ran, this);
  }

  /** Clusters change several times a second; a cell starts, and so gets its number, far less often. */
  private _ran(): void {
    const { clusters, model } = this.args;
    const running = JSON.stringify([
      runningOf(clusters.clusters),
      worldOf(clusters, model.view),
      areAnyHeld(clusters)
    ]);
    if (running !== this._running) {
      this._running = running;
      this.changed();
    }
  }

  private _running = '';

  private _focus: KeyboardFocus;
}

/** The ranks: the focused one, and those that a step moves. */
export class RanksSection extends Section {
  constructor(args: IDebugWidgets) {
    super(args);
    this.followCells();
    this.id = 'dtrain-debug-ranks';
    this.title.label = args.trans.__('Ranks');
    this.node.setAttribute('aria-label', args.trans.__('Ranks'));
  }

  protected content(): JSX.Element {
    const { model, debug, clusters, names, takeOver, trans, onError } =
      this.args;
    const { view } = model;
    const world = worldOf(clusters, view);
    const { job } = world;
    if (!view) {
      // JupyterLab knows the names of cells' files once it has asked the kernel for the debugger's state
      const held = areAnyHeld(clusters) && !debug.getCodeId('');
      return (
        <p className="jp-DtrainUi-under">
          {beforeRanks(model.isStarted, held, trans)}
        </p>
      );
    }
    return (
      <Ranks
        model={model}
        view={withAlarm(view, world)}
        job={job}
        cells={names}
        takeOver={takeOver}
        trans={trans}
        onError={onError}
      />
    );
  }
}

/** Breakpoints, in JupyterLab's own section: each is listed once. */
export class PointsSection extends Section {
  constructor(
    args: IDebugWidgets,
    /** JupyterLab's section, whose own list is hidden while this one is shown. */
    private _panel: Widget
  ) {
    super(args);
    this.followCells();
    this.id = 'dtrain-debug-points';
    this.node.setAttribute('aria-label', args.trans.__('Breakpoints of ranks'));
    const { breakpoints } = args.debug.model;
    breakpoints.changed.connect(this.changed, this);
    breakpoints.restored.connect(this.changed, this);
    args.model.editAsked.connect((_, point) => {
      this._edited = point;
      this.changed();
    }, this);
  }

  override dispose(): void {
    this._panel.removeClass('jp-DtrainDebug-own');
    super.dispose();
  }

  protected content(): JSX.Element | null {
    const { model, debug, names, unreported, trans } = this.args;
    const { breakpoints } = debug.model;
    const reported = model.view?.on ? model.view.points : null;
    // after a restart of the kernel, until it has loaded our extension
    const asked = reported ?? unreported();
    const shows = reported !== null || asked.length > 0;
    this._panel.toggleClass('jp-DtrainDebug-own', shows);
    this.toggleClass('jp-DtrainDebug-none', !shows);
    if (!shows) {
      return null;
    }
    return (
      <Breakpoints
        model={model}
        points={pointsOf(
          breakpoints,
          asked,
          path => names.nameOf(path),
          trans,
          debug.getCodeId('')
        )}
        show={({ own }) => own && showBreakpoint(breakpoints, own)}
        edited={this._edited}
        fixed={reported === null}
        trans={trans}
      />
    );
  }

  /** The breakpoint whose form a command has opened last. */
  private _edited: { path: string; line: number } | null = null;
}

/** Expressions on all ranks. */
export class CompareValuesSection extends Section {
  constructor(args: IDebugWidgets) {
    super(args);
    this.followCells();
    this.id = 'dtrain-debug-across';
    this.title.label = args.trans.__('Across Ranks');
    this.node.setAttribute('aria-label', args.trans.__('Across Ranks'));
  }

  protected content(): JSX.Element {
    const { model, clusters, trans, onError } = this.args;
    const { view } = model;
    const world = worldOf(clusters, view);
    return (
      <CompareValues
        model={model}
        view={view && withAlarm(view, world)}
        trans={trans}
        onError={onError}
      />
    );
  }
}
