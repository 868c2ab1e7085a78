import { CodeCell, CodeCellModel, ICodeCellModel } from '@jupyterlab/cells';
import { KernelMessage } from '@jupyterlab/services';
import { DisposableDelegate, IDisposable } from '@lumino/disposable';
import { PanelLayout, Widget } from '@lumino/widgets';

import { CLASSES } from './markup';
import { Report } from './names';
import { MethodSteps } from './steps';

type State = ICodeCellModel['executionState'];

/** JupyterLab 4.2 does not say in a cell's model whether the cell runs, as newer ones do. */
const IS_OLDER = !('executionState' in CodeCellModel.prototype);

/**
 * Add the running state to models of cells, if JupyterLab does not.
 *
 * @returns removes it.
 */
export function addCellStates(): IDisposable {
  if (!IS_OLDER || 'executionState' in CodeCellModel.prototype) {
    return new DisposableDelegate(() => undefined); // JupyterLab's own, or already ours
  }
  const states = new WeakMap<CodeCellModel, State>();
  Object.defineProperty(CodeCellModel.prototype, 'executionState', {
    configurable: true,
    get(this: CodeCellModel): State {
      return states.get(this) ?? 'idle';
    },
    set(this: CodeCellModel, newValue: State) {
      const oldValue = this.executionState;
      if (newValue !== oldValue) {
        states.set(this, newValue);
        this.stateChanged.emit({ name: 'executionState', oldValue, newValue });
      }
    }
  });
  const runs = new MethodSteps<typeof CodeCell.execute, 'state'>(
    CodeCell,
    'execute',
    ['state'],
    () => undefined // these versions have it
  );
  runs.add('state', async (execute, cell, ...more) => {
    const { model, outputArea } = cell;
    const before = outputArea.future;
    const reply = execute(cell, ...more); // sends the request to the kernel synchronously
    const { future } = outputArea;
    if (future === before) {
      return reply; // nothing was sent: the cell is empty, or there is no kernel
    }
    model.executionState = 'running';
    try {
      return await reply;
    } finally {
      // unless the cell was started again meanwhile
      if (!cell.isDisposed && outputArea.future === future) {
        model.executionState = 'idle';
      }
    }
  });
  return new DisposableDelegate(() => {
    runs.dispose();
    Reflect.deleteProperty(CodeCellModel.prototype, 'executionState');
  });
}

/** Show whether a cell runs, if JupyterLab does not. */
export function showState(cell: CodeCell): void {
  if (IS_OLDER) {
    const { executionCount, executionState } = cell.model;
    const runs = executionState === 'running';
    cell.setPrompt(runs ? '*' : String(executionCount ?? ''));
  }
}

/** Whether widgets can be put beside a cell's outputs. */
export function hasPlaces(cell: CodeCell, report: Report): boolean {
  if (placeOfOutputs(cell) < 0) {
    report('Cell.layout');
    return false;
  }
  return true;
}

/** Put widgets directly above and below a cell's outputs. */
export function putAround(cell: CodeCell, above: Widget, below: Widget): void {
  const { layout } = cell;
  const place = placeOfOutputs(cell);
  if (layout instanceof PanelLayout && place >= 0) {
    layout.insertWidget(place, above);
    layout.insertWidget(place + 2, below);
  }
}

/** Position of the part with the outputs among a cell's parts; -1 if it has none. */
function placeOfOutputs({ layout }: CodeCell): number {
  // a collapsed output is not in its part: JupyterLab shows a placeholder there instead
  return layout instanceof PanelLayout
    ? layout.widgets.findIndex(w => w.hasClass(CLASSES.outputs))
    : -1;
}

/**
 * Have a display that is not in a cell's outputs any more displayed again by the next update of it, which JupyterLab
 * ignores otherwise: it stays away until the cell runs again.
 *
 * @param isIt - whether an update, or a display, is of that display.
 */
export function displayFirstUpdate(
  future: CodeCell['outputArea']['future'],
  isIt: (content: Pick<IDisplayData, 'metadata'>) => boolean
): void {
  const hook = (message: KernelMessage.IIOPubMessage): boolean => {
    const isUpdate = KernelMessage.isUpdateDisplayDataMsg(message);
    if (
      (isUpdate || KernelMessage.isDisplayDataMsg(message)) &&
      isIt(message.content)
    ) {
      future.removeMessageHook(hook);
      if (isUpdate) {
        Object.assign(message.header, { msg_type: 'display_data' });
      }
    }
    return true;
  };
  future.registerMessageHook(hook);
}

type IDisplayData = KernelMessage.IDisplayDataMsg['content'];
