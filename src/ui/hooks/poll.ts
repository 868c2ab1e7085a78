import { Poll } from '@lumino/polling';
import { useCallback, useEffect, useRef } from 'react';

import { useLatest } from './useLatest';

/** Maximum interval between two requests, ms; without an answer the interval grows up to it. */
const SLOWEST = 5000;
/** The same while nothing is new, as a multiple of the interval. */
const MOST_TIMES = 8;

/** Whether to continue; "unchanged": to continue less and less often, because nothing is new. */
export type GoOn = boolean | 'unchanged';

/**
 * Poll while a component is drawn: not while the page is hidden, less often while requests fail, and at once
 * when the network is back.
 *
 * @param name - name of the polled object; polling restarts when it changes
 * @param interval - time from an answer to the next request, ms
 * @param ask - resolves to whether to continue, and how often; after an exception it is retried later
 * @returns a function that polls at once
 */
export function usePoll(
  name: string,
  interval: number,
  ask: () => Promise<GoOn>
): () => void {
  const latest = useLatest(ask);
  const poll = useRef<Poll | null>(null);
  useEffect(() => {
    const max = Math.max(interval, SLOWEST);
    let times = 1;
    const made = new Poll({
      name: `dtrain-lab:${name}`,
      frequency: { interval, backoff: true, max },
      standby: 'when-hidden',
      factory: async () => {
        const on = await latest.current();
        if (made.isDisposed) {
          return;
        }
        times = on === 'unchanged' ? Math.min(2 * times, MOST_TIMES) : 1;
        const next = Math.min(times * interval, max);
        made.frequency = { interval: next, backoff: true, max };
        if (!on) {
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
  }, [name, interval, latest]);
  return useCallback(() => void poll.current?.refresh(), []);
}
