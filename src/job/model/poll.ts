import { Poll } from '@lumino/polling';
import { useCallback, useEffect, useRef } from 'react';

/** Maximum interval between two requests, ms; without an answer the interval grows up to it. */
const SLOWEST = 5000;

/**
 * Ask again and again while this is drawn: not while the page is hidden, less often while asking fails, and at
 * once when the network is back.
 *
 * @param name - of what is asked for; another one begins anew
 * @param interval - from an answer to the next question, ms
 * @param ask - resolves to whether to go on; what it throws is tried again later
 * @returns asks at once
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
