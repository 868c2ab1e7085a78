import { IDebugger } from '@jupyterlab/debugger';
import { DisposableSet, IDisposable } from '@lumino/disposable';

import { heightOfRows, partsOf } from '../../jupyterlab/debuggerSidebar';
import { Report } from '../../jupyterlab/names';
import { ContentHeights, LEAST } from './sectionHeights';
import {
  CompareValuesSection,
  IDebugWidgets,
  PointsSection,
  RanksSection
} from './sectionWidgets';
import { WhoseVariables } from './whoseVariables';

/** Padding above and below a section's content, px. */
const BESIDE = 16;
/** The same for JupyterLab's own section. */
const BESIDE_POINTS = 20;

/** The same for JupyterLab's stack. */
const BESIDE_STACK = 3;

/** Height of its field and the beginning of what is above it, px. */
const LEAST_ACROSS = 84;

/**
 * Add ranks, values across ranks and breakpoints to the debugger's sidebar.
 *
 * @returns removes them.
 */
export function addSections(
  sidebar: IDebugger.ISidebar,
  args: IDebugWidgets,
  report: Report
): IDisposable {
  const { content, breakpoints, callstack, ...parts } = partsOf(
    sidebar,
    report
  );
  const added = new DisposableSet();
  const ranks = new RanksSection(args);
  sidebar.insertWidget(0, ranks);
  const across = new CompareValuesSection(args);
  sidebar.insertWidget(1, across);
  const whose = new WhoseVariables(args);
  parts.variables?.insertWidget(0, whose);
  [ranks, across, whose].forEach(section => added.add(section));
  if (!content) {
    return added;
  }
  // equal shares would leave the ranks three lines
  const heights = new ContentHeights(
    content,
    [4, 3, 3, 2, 2, 1],
    parts.kernelSources,
    parts.sources
  );
  const whole = { least: LEAST, most: 1, firm: true };
  ranks.onContent = element =>
    heights.follow(ranks, element, { ...whole, beside: BESIDE, priority: 1 });
  // any number of expressions: variables and stack keep some room
  across.onContent = element => {
    const list = element.querySelector<HTMLElement>(
      '.jp-DtrainDebug-acrossList > div'
    )!;
    heights.follow(across, list, {
      beside: BESIDE,
      below: element.querySelector('form')!,
      least: LEAST_ACROSS,
      priority: 3,
      most: 0.9,
      firm: false,
      // the field for the first expression is seen whole, however low the section is
      first: () =>
        args.model.rows.length || args.model.differences ? null : list
    });
  };
  // below a short stack would be empty space that the variables lack
  if (callstack) {
    heights.seek(callstack, () => callstack.node.querySelector('ul'), {
      beside: BESIDE_STACK,
      least: LEAST,
      priority: 4,
      most: 0.4,
      firm: false,
      yields: true
    });
  }
  added.add(heights);
  if (breakpoints) {
    const points = new PointsSection(args, breakpoints);
    args.model.editAsked.connect(
      () => content.expand(content.widgets.indexOf(breakpoints)),
      points
    );
    breakpoints.addWidget(points);
    added.add(points);
    points.onContent = element =>
      heights.follow(breakpoints, element, {
        ...whole,
        beside: BESIDE_POINTS,
        priority: 2,
        first: () => element.querySelector('form')?.closest('li') ?? null,
        // JupyterLab's own list, while no ranks are debugged, as after a restart of the kernel
        otherwise: () => heightOfRows(breakpoints)
      });
    const { changed, restored } = args.debug.model.breakpoints;
    [changed, restored].forEach(signal =>
      signal.connect(() => heights.refresh(), points)
    );
  }
  return added;
}
