import { JupyterFrontEnd } from '@jupyterlab/application';
import { PageConfig } from '@jupyterlab/coreutils';
import { TabPanel, Widget } from '@lumino/widgets';

/** Add a view to the main area. In Notebook 7 that holds the page's document and nothing else: there it stands below. */
export function addView(shell: JupyterFrontEnd.IShell, view: Widget): void {
  if (PageConfig.getOption('notebookPage')) {
    view.addClass('jp-DtrainUi-below'); // that area is as high as what is in it has to be
    shell.add(view, 'down');
  } else {
    shell.add(view, 'main');
  }
}

/** Bring a view to the front; Notebook 7 gives it the focus, and leaves another one before it. */
export function showView(shell: JupyterFrontEnd.IShell, view: Widget): void {
  const tabs = view.parent?.parent;
  if (tabs instanceof TabPanel) {
    tabs.currentWidget = view;
  }
  shell.activateById(view.id);
}
