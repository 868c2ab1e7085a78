import {
  createContext,
  MutableRefObject,
  useCallback,
  useContext,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore
} from 'react';

/** What a widget keeps of what was chosen in it, by name, also while it is not drawn. */
export class KeptValues {
  /** What is kept by a name; `initial` at first. */
  get<T>(name: string, initial: T): T {
    if (!this._values.has(name)) {
      this._values.set(name, initial);
    }
    return this._values.get(name) as T;
  }

  set(name: string, value: unknown): void {
    if (!Object.is(value, this._values.get(name))) {
      this._values.set(name, value);
      this._readers.forEach(tell => tell());
    }
  }

  /** Call when something is kept; returns what ends that. */
  readonly follow = (tell: () => void): (() => void) => {
    this._readers.add(tell);
    return () => this._readers.delete(tell);
  };

  private _values = new Map<string, unknown>();
  private _readers = new Set<() => void>();
}

export const Kept = createContext<KeptValues | null>(null);

/**
 * As `useState`, of what is still so when a view is seen again: its tab was left, or the sidebar was hidden.
 *
 * It lies in the widget, as a view that is not seen is not drawn; what is kept meanwhile shows in all that read it.
 * Outside of one it lasts as long as what is drawn.
 *
 * @param name - tells it apart from all else in the same widget
 * @param initial - what holds until something else is chosen
 */
export function useKept<T>(
  name: string,
  initial: T
): [T, (next: T | ((before: T) => T)) => void] {
  const [own] = useState(() => new KeptValues());
  const kept = useContext(Kept) ?? own;
  const read = (): T => kept.get(name, initial);
  const value = useSyncExternalStore(kept.follow, read, read);
  const first = useRef(initial);
  const set = useCallback(
    (next: T | ((before: T) => T)): void =>
      kept.set(
        name,
        typeof next === 'function'
          ? (next as (before: T) => T)(kept.get(name, first.current))
          : next
      ),
    [kept, name]
  );
  return [value, set];
}

/** As `useRef`, of what a view still knows when it is seen again. */
export function useKeptRef<T>(name: string, initial: T): MutableRefObject<T> {
  return useKept<MutableRefObject<T>>(name, { current: initial })[0];
}

/** An element is scrolled to where it was when its view was left, as soon as what is drawn in it reaches so far. */
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
    const wanted = at.current;
    let waits = true;
    const end = (): void => {
      waits = false;
      grown.disconnect();
    };
    const restore = (): void => {
      node.scrollTop = wanted;
      if (node.scrollTop >= wanted - 1) {
        end();
      }
    };
    const note = (): void => {
      const last = node.scrollHeight - node.clientHeight;
      if (waits && node.scrollTop >= last - 1) {
        return; // it is as far down as can be: nobody has scrolled it
      }
      end();
      at.current = node.scrollTop;
    };
    const grown = new MutationObserver(restore);
    grown.observe(node, { attributes: true, childList: true, subtree: true });
    restore();
    node.addEventListener('scroll', note);
    return () => {
      end();
      node.removeEventListener('scroll', note);
    };
  }, [at]);
}
