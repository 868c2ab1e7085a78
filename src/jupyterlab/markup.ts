/** Classes of JupyterLab's elements by which they are found; without a class, its elements are not found. */
export const CLASSES = {
  /** The gutter in which the debugger shows breakpoints. */
  gutter: 'cm-breakpoint-gutter',
  /** The line of the current frame. */
  currentLine: 'jp-DebuggerEditor-highlight',
  /** The button that turns the debugger on. */
  bug: 'jp-DebuggerBugButton',
  /** A row in the list of breakpoints. */
  breakpoint: 'jp-DebuggerBreakpoint',
  /** A notebook, a console, a file. */
  document: 'jp-MainAreaWidget',
  /** The part of a cell with its outputs. */
  outputs: 'jp-Cell-outputWrapper',
  /** One output of a cell. */
  output: 'jp-OutputArea-output',
  dialog: 'jp-Dialog',
  dialogHeader: 'jp-Dialog-header',
  dialogBody: 'jp-Dialog-body',
  dialogContent: 'jp-Dialog-content',
  dialogButton: 'jp-Dialog-button',
  dialogButtonLabel: 'jp-Dialog-buttonLabel'
} as const;

/** Id of the debugger's sidebar. */
export const DEBUGGER_SIDEBAR = 'jp-debugger-sidebar';

/** The button of a dialog that accepts it. */
export function acceptButton(
  dialog: Element | null | undefined
): HTMLButtonElement | null {
  const accepts = `.${CLASSES.dialogButton}.jp-mod-accept`;
  return dialog?.querySelector<HTMLButtonElement>(accepts) ?? null;
}
