import { Debugger, IDebugger } from '@jupyterlab/debugger';
import { AccordionPanel, Panel } from '@lumino/widgets';

import { CLASSES } from './markup';
import { Report } from './names';

/** Parts of JupyterLab's sidebar: its class has them, its interface does not. */
export interface ISidebarParts {
  /** Contains all sections. */
  content: AccordionPanel | null;
  breakpoints: Panel | null;
  callstack: Panel | null;
  kernelSources: Panel | null;
  /** The text of the current frame: always there before JupyterLab 4.6, and later where the user wants it. */
  sources: Panel | null;
  variables: Panel | null;
}

/** The parts of the sidebar that are there. */
export function partsOf(
  sidebar: IDebugger.ISidebar,
  report: Report
): ISidebarParts {
  const known = sidebar instanceof Debugger.Sidebar ? sidebar : null;
  const panel = (part: unknown): Panel | null =>
    part instanceof Panel ? part : null;
  const content = known?.content;
  const needed = {
    content: content instanceof AccordionPanel ? content : null,
    breakpoints: panel(known?.breakpoints),
    callstack: panel(known?.callstack),
    kernelSources: panel(known?.kernelSources),
    variables: panel(known?.variables)
  };
  if (Object.values(needed).includes(null)) {
    report('Debugger.Sidebar');
  }
  return { ...needed, sources: panel(known?.sources) };
}

/** Height of JupyterLab's own rows in its list of breakpoints, px. */
export function heightOfRows({ node }: Panel): number {
  const rows = node.querySelectorAll<HTMLElement>(`.${CLASSES.breakpoint}`);
  return [...rows].reduce((sum, { offsetHeight }) => sum + offsetHeight, 0);
}
