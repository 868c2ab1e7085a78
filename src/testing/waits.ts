import { VitestUtils } from 'vitest';

/** Ms within which a condition comes true, also on a machine that has other work: vitest waits 1 s. */
const WITHIN = 20_000;

type Waits = Pick<VitestUtils, 'waitFor' | 'waitUntil'>;

/** What has been lengthened: specs share `vi`, and each is set up anew. */
const lengthened = Symbol.for('dtrain-lab:waits');

/** Give `vi.waitFor` and `vi.waitUntil` a longer time; a spec may still name its own. */
export function lengthenWaits(vi: Waits & { [lengthened]?: boolean }): void {
  if (vi[lengthened]) {
    return;
  }
  vi[lengthened] = true;
  const { waitFor, waitUntil } = vi;
  vi.waitFor = (look, options) => waitFor(look, longer(options));
  vi.waitUntil = (look, options) => waitUntil(look, longer(options));
}

function longer<T extends object>(
  options: number | T | undefined
): number | T | { timeout: number } {
  return typeof options === 'number'
    ? options
    : { timeout: WITHIN, ...options };
}
