import { Widget } from '@lumino/widgets';

import { CLASSES } from './markup';

/** Classes of ipywidgets' views; without one, the view is taken for one that responds. */
export const WIDGET_CLASSES = {
  /** Any view; an output that lost its model has the class, too. */
  any: 'jupyter-widgets',
  /** A view whose kernel was restarted or changed: ipywidgets marks it with an icon. */
  disconnected: 'jupyter-widgets-disconnected',
  /** Views that may take input. */
  input: [
    'widget-inline-hbox',
    'widget-inline-vbox',
    'widget-button',
    'widget-toggle-button',
    'widget-upload',
    'jupyter-widget-tagsinput'
  ],
  /** Views of HTML, which may have buttons of their own. */
  html: ['widget-html', 'widget-htmlmath'],
  /** The filled part of a progress bar. */
  bar: 'progress-bar',
  /** … of one that tqdm has closed. */
  finished: ['progress-bar-success', 'progress-bar-danger']
} as const;

const list = (classes: readonly string[]): string =>
  classes.map(name => `.${name}`).join(', ');
const OUTPUT = `:scope > .${CLASSES.output}`;
const OWN =
  `.${WIDGET_CLASSES.any}:is(${list(WIDGET_CLASSES.input)})` +
  `:not(${list(WIDGET_CLASSES.html)})`;
const INPUT = 'input, button, select, textarea, [role="slider"]';

/** The views of ipywidgets in an output, of its own widgets and of other libraries'. */
export function viewsOf(output: Widget): Element[] {
  return [
    ...output.node.querySelectorAll(`.${CLASSES.output} .${WIDGET_CLASSES.any}`)
  ];
}

/**
 * Whether a widget may still be expected to change: not if it is a set of progress bars that are all full, or that
 * tqdm has closed, which are as static as text.
 */
export function mightChange(output: Widget): boolean {
  const bars = output.node.querySelectorAll<HTMLElement>(
    `.${WIDGET_CLASSES.bar}`
  );
  // a bar fills one of the two however far it has come
  const isFinished = (bar: HTMLElement): boolean =>
    bar.matches(list(WIDGET_CLASSES.finished)) ||
    [bar.style.width, bar.style.height].every(part => part === '100%');
  return bars.length
    ? ![...bars].every(isFinished)
    : viewsOf(output).some(view => view.textContent || view.children.length);
}

/** Whether an output has only empty lines, as that with which rich ends a progress bar: its label would stand alone. */
export function isBlank(output: Widget): boolean {
  const parts = output.node.querySelectorAll(`${OUTPUT} > *`);
  return (
    parts.length > 0 &&
    [...parts].every(part => part.matches('pre') && !part.textContent?.trim())
  );
}

/**
 * Whether a view has lost its kernel, which was restarted or changed. The new kernel does not pass its messages
 * on, although its rank is alive.
 */
export function isDisconnected(view: Element): boolean {
  return view.classList.contains(WIDGET_CLASSES.disconnected);
}

/** Whether the rank has closed this widget, whose view then hides itself. */
export function isClosed(output: Widget): boolean {
  return !!output.node.querySelector(`${OUTPUT}.lm-mod-hidden`);
}

/** Whether only an error is left of this widget: its model is unknown, as in a copy of a notebook. */
export function isGone(output: Widget): boolean {
  const shown = output.node.querySelector(`${OUTPUT}.${WIDGET_CLASSES.any}`);
  return !!shown && !shown.firstElementChild;
}

/** Whether a widget waits for its model. */
export function isLoading(output: Widget): boolean {
  const shown = output.node.querySelector(OUTPUT);
  return !!shown && !shown.firstElementChild && !!shown.textContent;
}

/**
 * The views that need their rank: ipywidgets' own that take input, which a progress bar does not.
 *
 * A view of another library may have controls that work without its rank, such as a figure's toolbar or the
 * heads of a table; so do tabs.
 */
export function controlsOf(output: Widget): Element[] {
  const own = output.node.querySelectorAll(`.${CLASSES.output} ${OWN}`);
  return [...own].filter(e => e.matches(INPUT) || e.querySelector(INPUT));
}
