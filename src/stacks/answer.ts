import { ISignal } from '@lumino/signaling';
import { useCallback, useEffect, useRef, useState } from 'react';

import { Stack, Verdict } from '../tokens';

/** Delay before the spinner is shown, ms: most answers are there sooner. */
const SOON = 300;
/** A verdict that arrives within this time after the stacks belongs to them, ms. */
const SAID_WITHIN_MS = 5000;

/** Stacks, and the verdict that belongs to them. */
export interface IAnswer {
  stacks: readonly Stack[];
  verdict: Verdict | null;
  at: Date;
}

/** Where the stacks and the verdict come from. */
interface IAsked {
  /** Asks the ranks. */
  ask: () => Promise<readonly Stack[]>;
  /** The current verdict on the world. */
  verdict: () => Verdict | null;
  /** Whether the world has ended. */
  ended: () => boolean;
  /** Emitted when these may have changed. */
  changed: ISignal<unknown, void>;
  /** The ranks are asked again when this changes. */
  asked: number;
}

/** What the ranks have answered, and whether they are asked. */
interface IAsking {
  answer: IAnswer | null;
  /** Why they could not be asked; null if they could. */
  error: unknown;
  busy: boolean;
  /** Whether there has been no answer for so long that this is said. */
  slow: boolean;
  /** Whether the verdict of the answer is over by now. */
  over: boolean;
  /** Whether the world has ended. */
  ended: boolean;
  refresh: () => Promise<void>;
}

/** Stacks of the ranks: asked for when this is drawn, and on request. */
export function useStacks(of: IAsked): IAsking {
  const { ask, verdict, changed } = of;
  const [answer, setAnswer] = useState<IAnswer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [slow, setSlow] = useState(false);
  const number = useRef(0);
  const refresh = useCallback(async () => {
    const mine = ++number.current;
    const timer = window.setTimeout(() => setSlow(true), SOON);
    setBusy(true);
    try {
      const stacks = await ask();
      if (mine === number.current) {
        setAnswer({ stacks, verdict: verdict(), at: new Date() });
        setError(null);
      }
    } catch (failure) {
      if (mine === number.current) {
        setError(failure);
      }
    } finally {
      window.clearTimeout(timer);
      if (mine === number.current) {
        setBusy(false);
        setSlow(false);
      }
    }
  }, [ask, verdict]);
  useEffect(() => {
    void refresh();
    const { current } = number;
    return () => {
      number.current = current + 1;
    };
  }, [refresh, of.asked]);

  // a page that was just loaded receives the verdict a little later
  const unsaid = answer !== null && answer.verdict === null;
  useEffect(() => {
    const look = (): void => {
      const current = verdict();
      if (current) {
        // it does not apply to older stacks
        setAnswer(known =>
          known && Date.now() - known.at.getTime() < SAID_WITHIN_MS
            ? { ...known, verdict: current }
            : known
        );
      }
    };
    if (unsaid) {
      changed.connect(look);
    }
    return () => {
      changed.disconnect(look);
    };
  }, [unsaid, verdict, changed]);

  const said = answer?.verdict ?? null;
  const isOver = useCallback(
    () => said !== null && verdict() === null,
    [said, verdict]
  );
  const over = useCondition(isOver, changed);
  const ended = useCondition(of.ended, changed);
  return { answer, error, busy, slow, over, ended, refresh };
}

/** A condition that may change at each signal. */
function useCondition(
  is: () => boolean,
  changed: ISignal<unknown, void>
): boolean {
  const [value, setValue] = useState(is);
  useEffect(() => {
    const look = (): void => setValue(is());
    look();
    changed.connect(look);
    return () => {
      changed.disconnect(look);
    };
  }, [is, changed]);
  return value;
}
