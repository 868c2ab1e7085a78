import { useEffect, useState } from 'react';

/** Below this width of the window the form has one column, px. */
const WINDOW = 1200;
/** The same of the view in a wide window: it may stand beside another one. */
const VIEW = 860;

/** Does the form have one column? */
export function isOneColumn(view: number, window: number): boolean {
  return window < WINDOW || view < VIEW;
}

/**
 * Whether the form has one column, as its view and the window are now.
 *
 * What stands above comes first for the keyboard, too: so order is a matter of elements, and not of a style sheet.
 *
 * @param view - null until it is drawn.
 */
export function useOneColumn(view: HTMLElement | null): boolean {
  const [one, setOne] = useState(window.innerWidth < WINDOW);
  useEffect(() => {
    if (!view) {
      return;
    }
    const look = (): void =>
      setOne(isOneColumn(view.clientWidth, window.innerWidth));
    const observer = new ResizeObserver(look);
    observer.observe(view);
    // the view keeps its width where only a sidebar gives way
    window.addEventListener('resize', look);
    return () => {
      observer.disconnect();
      window.removeEventListener('resize', look);
    };
  }, [view]);
  return one;
}
