type Execute<T> = (args: T) => Promise<void>;

/** Of a command that is still at work for the same arguments a second click is no second order. */
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
