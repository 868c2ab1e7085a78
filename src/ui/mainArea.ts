import { JupyterFrontEnd } from '@jupyterlab/application';
import { PageConfig } from '@jupyterlab/coreutils';
import { TabPanel, Widget } from '@lumino/widgets';

/**
 * Add a view to the main area. In Notebook 7, that area only holds the page's document, so the view is added
 * below.
 */
export function addView(shell: JupyterFrontEnd.IShell, view: Widget): void {
  if (PageConfig.getOption('notebookPage')) {
    view.addClass('jp-DtrainUi-below'); // that area is only as high as its content requires
    shell.add(view, 'down');
  } else {
    shell.add(view, 'main');
  }
}

/** Bring a view to the front; Notebook 7 only focuses it, and would leave another view in front. */
export function showView(shell: JupyterFrontEnd.IShell, view: Widget): void {
  const tabs = view.parent?.parent;
  if (tabs instanceof TabPanel) {
    tabs.currentWidget = view;
  }
  shell.activateById(view.id);
}
