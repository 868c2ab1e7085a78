/** A window of jsdom: vitest closes one after the last spec of its document. */
export type ClosingWindow = { close: () => void };

type Clock = { setTimeout: typeof setTimeout };

const ended = Symbol.for('dtrain-lab:timers');

/**
 * End timers with the document, as a browser does with those of a page that is left: Node's would fire without a document.
 *
 * @param clock - has the function that starts timers; until the window is closed, it remembers them.
 */
export function endTimersWith(
  page: ClosingWindow & { [ended]?: boolean },
  clock: Clock
): void {
  if (page[ended]) {
    return; // specs that share a document are each set up
  }
  page[ended] = true;
  const begun = new Set<ReturnType<typeof setTimeout>>();
  const { setTimeout: start } = clock;
  const remembering = (...args: Parameters<typeof start>): NodeJS.Timeout => {
    const timer = start(...args);
    begun.add(timer);
    return timer;
  };
  clock.setTimeout = Object.assign(remembering, start);
  const close = page.close.bind(page);
  page.close = () => {
    begun.forEach(timer => clearTimeout(timer));
    clock.setTimeout = start;
    close();
  };
}
