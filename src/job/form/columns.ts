import { useEffect, useState } from 'react';

/** Below this width of the window the form has one column, px. */
const WINDOW = 1200;
/** The same for the view in a wide window, where it may be beside another one. */
const VIEW = 860;

/** Whether the form has one column. */
export function isOneColumn(view: number, window: number): boolean {
  return window < WINDOW || view < VIEW;
}

/**
 * Whether the form has one column, as its view and the window are now.
 *
 * The visual order must also be the keyboard's, so it depends on the elements, and not on a style sheet.
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
    // the view keeps its width if only a sidebar shrinks
    window.addEventListener('resize', look);
    return () => {
      observer.disconnect();
      window.removeEventListener('resize', look);
    };
  }, [view]);
  return one;
}
