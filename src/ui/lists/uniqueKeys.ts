/**
 * Keys for React, each once: equal ones are numbered. Of two rows with the same key, React leaves one in the page for
 * ever.
 */
export function uniqueKeys(keys: readonly string[]): string[] {
  const counts = new Map<string, number>();
  return keys.map(key => {
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return `${key} ${count}`;
  });
}
