import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';

/**
 * What JupyterLab does not promise and this extension replaces or uses, with what a user loses without it.
 *
 * ARCHITECTURE.md lists all of them; `names.spec.ts` compares both with the JupyterLab that is installed.
 */
export const NAMES = {
  'IDebugger.updateBreakpoints': (trans: TranslationBundle): string =>
    trans.__(
      'Breakpoints of an edited cell lose their conditions, and a cell that is run right after an edit may not stop at its breakpoints.'
    ),
  'IDebugger.restoreState': (trans: TranslationBundle): string =>
    trans.__(
      'A copy of a notebook gets the breakpoints of the original, and after a reload of the page, "Pause on exceptions" forgets what was chosen.'
    ),
  'IDebugger.pauseOnExceptions': (trans: TranslationBundle): string =>
    trans.__(
      'After a reload of the page, "Pause on exceptions" forgets what was chosen.'
    ),
  'IDebugger.eventMessage': (trans: TranslationBundle): string =>
    trans.__(
      'After a reload of the page, the menu "Pause on exceptions" is empty.'
    ),
  'IDebugger.ISession.sendRequest': (trans: TranslationBundle): string =>
    trans.__(
      'After a restart of the kernel, breakpoints have no conditions, and pausing while no cell runs is silently ignored.'
    ),
  'IDebugger.ISources.find': (trans: TranslationBundle): string =>
    trans.__(
      'A stop in a Python file that is open is shown in a second tab, as a read-only copy.'
    ),
  'Debugger.Handler.updateWidget': (trans: TranslationBundle): string =>
    trans.__(
      'After a reload of the page with several notebooks, the debugger of another notebook may be shown.'
    ),
  'ToolbarButton._onClick': (trans: TranslationBundle): string =>
    trans.__(
      'The bug in a toolbar may turn on the debugger of another notebook if it is pressed right after a reload of the page.'
    ),
  'Debugger.Sidebar': (trans: TranslationBundle): string =>
    trans.__(
      'The list of breakpoints in the debugger does not show conditions, and its sections do not grow with their content.'
    ),
  'Cell.layout': (trans: TranslationBundle): string =>
    trans.__('The output of distributed cells is shown as plain text.')
};

/** A name of `NAMES`. */
export type ForeignName = keyof typeof NAMES;

/** Told each name that JupyterLab lacks. */
export type Report = (name: ForeignName) => void;

/** Says what is lost, once for each name: to the user, and with the name in the browser's console. */
export function reporter(trans: TranslationBundle): Report {
  const told = new Set<ForeignName>();
  return name => {
    if (told.has(name)) {
      return;
    }
    told.add(name);
    const without = NAMES[name](trans);
    console.warn(`dtrain-lab: ${without} (JupyterLab has no ${name})`);
    Notification.warning(
      trans.__(
        'This version of JupyterLab is not fully supported. %1',
        without
      ),
      { autoClose: 8000 }
    );
  };
}
