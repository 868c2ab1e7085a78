import { JupyterFrontEnd } from '@jupyterlab/application';
import { PageConfig } from '@jupyterlab/coreutils';
import { TabPanel, Widget } from '@lumino/widgets';
import { afterEach, expect, it } from 'vitest';

import { addView, showView } from './mainArea';

afterEach(() => void PageConfig.setOption('notebookPage', ''));

function areaOf(view: Widget): string {
  let area = '';
  const shell = {
    add: (_: Widget, where: string) => void (area = where)
  } as unknown as JupyterFrontEnd.IShell;
  addView(shell, view);
  return area;
}

it('adds views where the page has room for them', () => {
  expect(areaOf(new Widget())).toBe('main');
  PageConfig.setOption('notebookPage', 'notebooks');
  expect(areaOf(new Widget())).toBe('down');
});

it('brings a view before the others of its tabs', () => {
  const tabs = new TabPanel();
  const [one, two] = [new Widget(), new Widget()];
  tabs.addWidget(one);
  tabs.addWidget(two);
  const shell = { activateById: () => undefined };
  showView(shell as unknown as JupyterFrontEnd.IShell, two);
  expect(tabs.currentWidget).toBe(two);
});
