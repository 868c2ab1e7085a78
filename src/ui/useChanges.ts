import { ISignal } from '@lumino/signaling';
import { useEffect, useReducer, useState } from 'react';

interface IChanging {
  readonly changed: ISignal<unknown, unknown>;
}

/** Redraw whenever one of these objects, always the same ones, has changed. */
export function useChanges(...objects: readonly IChanging[]): void {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [watched] = useState(objects);
  useEffect(() => {
    watched.forEach(({ changed }) => changed.connect(redraw));
    return () => watched.forEach(({ changed }) => changed.disconnect(redraw));
  }, [watched]);
}
