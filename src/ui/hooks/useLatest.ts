import { MutableRefObject, useLayoutEffect, useRef } from 'react';

/**
 * The latest value of a component, for what runs later: an observer, a timer, a request.
 *
 * It is written once the component is drawn, before its other effects if this hook comes first.
 */
export function useLatest<T>(value: T): Readonly<MutableRefObject<T>> {
  const latest = useRef(value);
  useLayoutEffect(() => {
    latest.current = value;
  });
  return latest;
}
