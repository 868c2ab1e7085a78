type Execute<T> = (args: T) => Promise<void>;

/** Wraps a command so that a second click, while it still works with the same arguments, does not run it again. */
export function once<T>(execute: Execute<T>): Execute<T> {
  const working = new Map<string, Promise<void>>();
  return args => {
    const key = JSON.stringify(args);
    const begun = working.get(key);
    if (begun) {
      return begun;
    }
    const work = execute(args).finally(() => working.delete(key));
    working.set(key, work);
    return work;
  };
}
