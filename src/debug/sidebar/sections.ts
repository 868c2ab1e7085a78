import { IDebugger } from '@jupyterlab/debugger';
import { AccordionPanel, Panel } from '@lumino/widgets';

import { ContentHeights, LEAST } from './sectionHeights';
import {
  CompareValuesSection,
  IDebugWidgets,
  PointsSection,
  RanksSection,
  WhoseVariables
} from './sectionWidgets';

/** Parts of JupyterLab's sidebar that are not in its interface. */
interface IParts {
  content?: Panel;
  breakpoints?: Panel;
  kernelSources?: Panel;
  variables?: Panel;
}

/** Padding above and below a section's content, px. */
const BESIDE = 16;
/** The same for JupyterLab's own section. */
const BESIDE_POINTS = 20;

/** Height of its header and one expression, px. */
const LEAST_ACROSS = 84;

/** Height of all elements of a section that match, px. */
function heightOf(selector: string, { node }: Panel): number {
  return [...node.querySelectorAll<HTMLElement>(selector)].reduce(
    (sum, { offsetHeight }) => sum + offsetHeight,
    0
  );
}

/** Add ranks, values across ranks and breakpoints to the debugger's sidebar. */
export function addSections(
  sidebar: IDebugger.ISidebar,
  args: IDebugWidgets
): void {
  const { content, breakpoints, kernelSources, variables } =
    sidebar as unknown as IParts;
  const ranks = new RanksSection(args);
  sidebar.insertWidget(0, ranks);
  const across = new CompareValuesSection(args);
  sidebar.insertWidget(1, across);
  variables?.insertWidget(0, new WhoseVariables(args));
  if (!(content instanceof AccordionPanel)) {
    return;
  }
  // equal shares would leave the ranks three lines
  const heights = new ContentHeights(
    content,
    [4, 3, 3, 2, 2, 1],
    kernelSources ?? null
  );
  const whole = { least: LEAST, most: 1, firm: true };
  ranks.onContent = element =>
    heights.follow(ranks, element, { ...whole, beside: BESIDE, priority: 1 });
  // any number of expressions: variables and stack keep some room
  across.onContent = element =>
    heights.follow(across, element, {
      beside: BESIDE,
      least: LEAST_ACROSS,
      priority: 3,
      most: 0.75,
      firm: false,
      // the field for the first expression is seen whole, however low the section is
      first: () =>
        args.model.rows.length || args.model.differences ? null : element
    });
  ranks.disposed.connect(() => heights.dispose());
  if (breakpoints) {
    const points = new PointsSection(args, breakpoints);
    breakpoints.addWidget(points);
    points.onContent = element =>
      heights.follow(breakpoints, element, {
        ...whole,
        beside: BESIDE_POINTS,
        priority: 2,
        first: () => element.querySelector('form')?.closest('li') ?? null,
        // JupyterLab's own list, while no ranks are debugged, as after a restart of the kernel
        otherwise: () => heightOf('.jp-DebuggerBreakpoint', breakpoints)
      });
    const { changed, restored } = args.debug.model.breakpoints;
    [changed, restored].forEach(signal =>
      signal.connect(() => heights.refresh())
    );
  }
}
