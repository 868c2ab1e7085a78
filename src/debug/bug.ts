import { NotebookPanel } from '@jupyterlab/notebook';
import { ToolbarButton } from '@jupyterlab/ui-components';

/** Press the bug of a notebook that is in front: JupyterLab has no command for it. */
export function pressBug(panel: NotebookPanel): void {
  const bug = [...panel.toolbar.children()].find(
    (w): w is ToolbarButton =>
      w instanceof ToolbarButton &&
      w.node.querySelector('.jp-DebuggerBugButton') !== null
  );
  bug?.onClick();
}
