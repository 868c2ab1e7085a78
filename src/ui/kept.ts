import {
  createContext,
  MutableRefObject,
  useCallback,
  useContext,
  useLayoutEffect,
  useReducer,
  useRef,
  useState
} from 'react';

/** What a widget keeps of what was chosen in it, by name, also while it is not drawn. */
export const Kept = createContext<Map<string, unknown> | null>(null);

/**
 * As `useState`, of what is still so when a view is seen again: its tab was left, or the sidebar was hidden.
 *
 * It lies in the widget, as a view that is not seen is not drawn. Outside of one it lasts as long as what is drawn.
 *
 * @param name - tells it apart from all else in the same widget
 * @param initial - what holds until something else is chosen
 */
export function useKept<T>(
  name: string,
  initial: T
): [T, (next: T | ((before: T) => T)) => void] {
  const [own] = useState(() => new Map<string, unknown>());
  const kept = useContext(Kept) ?? own;
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  if (!kept.has(name)) {
    kept.set(name, initial);
  }
  const set = useCallback(
    (next: T | ((before: T) => T)): void => {
      const before = kept.get(name) as T;
      const now =
        typeof next === 'function' ? (next as (before: T) => T)(before) : next;
      if (!Object.is(now, before)) {
        kept.set(name, now);
        redraw();
      }
    },
    [kept, name]
  );
  return [kept.get(name) as T, set];
}

/** As `useRef`, of what a view still knows when it is seen again. */
export function useKeptRef<T>(name: string, initial: T): MutableRefObject<T> {
  return useKept<MutableRefObject<T>>(name, { current: initial })[0];
}

/** An element is scrolled to where it was when its view was left. */
export function useKeptScroll(
  name: string,
  element: () => HTMLElement | null
): void {
  const at = useKeptRef(name, 0);
  const find = useRef(element);
  useLayoutEffect(() => {
    const node = find.current();
    if (!node) {
      return;
    }
    node.scrollTop = at.current;
    const note = (): void => {
      at.current = node.scrollTop;
    };
    node.addEventListener('scroll', note);
    return () => node.removeEventListener('scroll', note);
  }, [at]);
}
