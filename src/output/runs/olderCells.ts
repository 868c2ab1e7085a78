import { CodeCell, CodeCellModel, ICodeCellModel } from '@jupyterlab/cells';

type State = ICodeCellModel['executionState'];

/** JupyterLab 4.2 does not say in a cell's model whether the cell runs, as newer ones do. */
const IS_OLDER = !('executionState' in CodeCellModel.prototype);

/** Add the running state to models of cells, if JupyterLab does not. */
export function addCellStates(): void {
  if (!IS_OLDER || 'executionState' in CodeCellModel.prototype) {
    return; // JupyterLab's own, or already ours
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
  const { execute } = CodeCell;
  const tracked: typeof execute = async (cell, ...more) => {
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
  };
  Object.assign(CodeCell, { execute: tracked });
}

/** Show whether a cell runs, if JupyterLab does not. */
export function showState(cell: CodeCell): void {
  if (IS_OLDER) {
    const { executionCount, executionState } = cell.model;
    const runs = executionState === 'running';
    cell.setPrompt(runs ? '*' : String(executionCount ?? ''));
  }
}
