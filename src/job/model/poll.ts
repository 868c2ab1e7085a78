import { Poll } from '@lumino/polling';
import { useCallback, useEffect, useRef } from 'react';

/** Maximum interval between two requests, ms; without an answer the interval grows up to it. */
const SLOWEST = 5000;

/**
 * Poll while a component is drawn: not while the page is hidden, less often while requests fail, and at once
 * when the network is back.
 *
 * @param name - name of the polled object; polling restarts when it changes
 * @param interval - time from an answer to the next request, ms
 * @param ask - resolves to whether to continue; after an exception it is retried later
 * @returns a function that polls at once
 */
export function usePoll(
  name: string,
  interval: number,
  ask: () => Promise<boolean>
): () => void {
  const latest = useRef(ask);
  const poll = useRef<Poll | null>(null);
  useEffect(() => {
    latest.current = ask;
  });
  useEffect(() => {
    const made = new Poll({
      name: `dtrain-lab:${name}`,
      frequency: {
        interval,
        backoff: true,
        max: Math.max(interval, SLOWEST)
      },
      standby: 'when-hidden',
      factory: async () => {
        if (!(await latest.current()) && !made.isDisposed) {
          void made.stop();
        }
      }
    });
    poll.current = made;
    const online = (): void => void made.refresh();
    window.addEventListener('online', online);
    return () => {
      window.removeEventListener('online', online);
      poll.current = null;
      made.dispose();
    };
  }, [name, interval]);
  return useCallback(() => void poll.current?.refresh(), []);
}
