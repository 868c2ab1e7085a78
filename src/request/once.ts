/**
 * Runs an action once at a time per key: a second call (a double click) gets the first one's promise.
 *
 * @returns a function of the key and the action
 */
export function onceAtATime(): <T>(
  key: string,
  work: () => Promise<T>
) => Promise<T> {
  const running = new Map<string, Promise<unknown>>();
  return <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const pending = running.get(key) as Promise<T> | undefined;
    if (pending) {
      return pending;
    }
    const begun = work().finally(() => running.delete(key));
    running.set(key, begun);
    return begun;
  };
}
