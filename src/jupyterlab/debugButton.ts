import { NotebookPanel } from '@jupyterlab/notebook';
import { ToolbarButton } from '@jupyterlab/ui-components';
import { IDisposable } from '@lumino/disposable';

import { CLASSES } from './markup';
import { Report } from './names';

/** The bug's name among the items of its toolbar. */
const BUG = 'debugger-icon';

type Press = () => void | Promise<void>;

/** The part of a notebook that is used. */
interface IPanel {
  toolbar: Pick<NotebookPanel['toolbar'], 'children' | 'names' | 'isDisposed'>;
}

/** Toolbar → its bug: where the notebook is narrow, JupyterLab moves items to a popup, which is private. */
const found = new WeakMap<IPanel['toolbar'], ToolbarButton>();

/**
 * The bug in a notebook's toolbar.
 *
 * By its name: nothing in the button has its class until it is drawn, some time after JupyterLab has made it.
 */
export function bugOf({ toolbar }: IPanel): ToolbarButton | undefined {
  if (toolbar.isDisposed) {
    return undefined; // it has no items any more, nor can it be asked for their names
  }
  const names = [...toolbar.names()];
  const bug = [...toolbar.children()].find(
    (w, at): w is ToolbarButton =>
      w instanceof ToolbarButton &&
      (names[at] === BUG || w.node.querySelector(`.${CLASSES.bug}`) !== null)
  );
  if (bug) {
    found.set(toolbar, bug);
    return bug;
  }
  const before = found.get(toolbar);
  return before?.isDisposed ? undefined : before;
}

/** Press the bug of a notebook; resolves once what JupyterLab does then is done. */
export async function pressBug(panel: IPanel): Promise<void> {
  const bug = bugOf(panel);
  const action = bug && actionOf(bug);
  if (!bug || !action) {
    bug?.onClick();
    return;
  }
  // newer versions of JupyterLab do not return what the action does
  const done: (void | Promise<void>)[] = [];
  const once = (): void => void done.push(action());
  bug.onClick = once;
  try {
    bug.onClick();
  } finally {
    if (actionOf(bug) === once) {
      bug.onClick = action;
    }
  }
  await Promise.all(done);
}

/**
 * What presses of the bugs in toolbars do: `_onClick` of a button, which is private.
 *
 * The public getter `onClick` returns a function that calls the current action: an action that calls it would
 * call itself.
 */
export class BugPresses implements IDisposable {
  constructor(private _report: Report) {}

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /**
   * Do something around presses of a notebook's bug. JupyterLab sets the action of its button each time that it
   * queries the kernel, so this has to be called after that, too.
   */
  around(
    panel: IPanel,
    step: (press: () => Promise<void>) => Promise<void>
  ): void {
    const bug = bugOf(panel);
    if (!bug || this._isDisposed) {
      return;
    }
    if (!('_onClick' in bug)) {
      this._report('ToolbarButton._onClick');
      return;
    }
    const press = actionOf(bug);
    if (!press || press === this._ours.get(bug)?.ours) {
      return;
    }
    const ours = (): Promise<void> => step(async () => press());
    if (!this._ours.has(bug)) {
      bug.disposed.connect(() => this._ours.delete(bug));
    }
    this._ours.set(bug, { ours, press });
    bug.onClick = ours;
  }

  dispose(): void {
    this._isDisposed = true;
    for (const [bug, { ours, press }] of this._ours) {
      if (actionOf(bug) === ours) {
        bug.onClick = press;
      }
    }
    this._ours.clear();
  }

  private _isDisposed = false;
  /** The bug of each notebook → its action, and that of JupyterLab. */
  private _ours = new Map<ToolbarButton, { ours: Press; press: Press }>();
}

function actionOf(bug: ToolbarButton): Press | undefined {
  return (bug as unknown as { _onClick?: Press })._onClick;
}
