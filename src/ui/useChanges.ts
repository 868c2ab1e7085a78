import { ISignal } from '@lumino/signaling';
import { useEffect, useReducer } from 'react';

/** Redraw whenever one of two signals is emitted. */
export function useChanges(
  one: ISignal<unknown, void>,
  other: ISignal<unknown, void>
): void {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    one.connect(redraw);
    other.connect(redraw);
    return () => {
      one.disconnect(redraw);
      other.disconnect(redraw);
    };
  }, [one, other]);
}
