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

/** State of a widget's view, by name. It lives in the widget, so that it survives while the view is not rendered. */
export class ViewState {
  /** The value of a name; `initial` until one is set. */
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

  /** Call a listener at each change; returns a function that removes it. */
  readonly follow = (tell: () => void): (() => void) => {
    this._readers.add(tell);
    return () => this._readers.delete(tell);
  };

  private _values = new Map<string, unknown>();
  private _readers = new Set<() => void>();
}

export const ViewStateContext = createContext<ViewState | null>(null);

/**
 * As `useState`, but the value survives while the view is hidden (another tab, a collapsed sidebar).
 *
 * The widget holds the value, because a hidden view is not rendered; every component that reads the name is
 * rendered again when it changes. Outside a widget the value lasts as long as the component.
 *
 * @param name - unique within the widget
 * @param initial - value until another one is set
 */
export function useViewState<T>(
  name: string,
  initial: T
): [T, (next: T | ((before: T) => T)) => void] {
  const [own] = useState(() => new ViewState());
  const state = useContext(ViewStateContext) ?? own;
  const read = (): T => state.get(name, initial);
  const value = useSyncExternalStore(state.follow, read, read);
  const first = useRef(initial);
  const set = useCallback(
    (next: T | ((before: T) => T)): void =>
      state.set(
        name,
        typeof next === 'function'
          ? (next as (before: T) => T)(state.get(name, first.current))
          : next
      ),
    [state, name]
  );
  return [value, set];
}

/** As `useRef`, but the value survives while the view is hidden. */
export function useViewStateRef<T>(
  name: string,
  initial: T
): MutableRefObject<T> {
  return useViewState<MutableRefObject<T>>(name, { current: initial })[0];
}

/** Restore an element's scroll position when its view is shown again, once its content is tall enough. */
export function useViewScroll(
  name: string,
  element: () => HTMLElement | null
): void {
  const at = useViewStateRef(name, 0);
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
        return; // the browser has limited the position: the user hasn't scrolled
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
