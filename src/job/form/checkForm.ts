import { TranslationBundle } from '@jupyterlab/translation';
import {
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore
} from 'react';

import { useLatest } from '../../ui/hooks/useLatest';
import { RequestError } from '../../request/rest';
import { IJobs, JobPlan, WantedJob } from '../../tokens';
import { IFault, withoutFaults } from '../fields/fieldErrors';
import { INotebook } from './notebook';
import { refusalOf } from '../model/refusal';
import { followedIn, IFilled } from './initialForm';
import { wantedOf } from '../model/formRequest';

/** Delay between an edit and the request for a plan, ms. */
const CHECK_AFTER = 400;

/** The server's answer for a form. */
export interface IChecked<P extends JobPlan = JobPlan> {
  plan: P | null;
  error: RequestError | null;
  busy: boolean;
  at?: Date;
}

/** Requests the plan of a form from the server; `asks`: whether the scheduler is asked, too. */
export type AskPlan<P extends JobPlan> = (
  filled: IFilled,
  asks: boolean
) => Promise<P>;

/** The answer, its form, and the function that requested it; and the last plan of all answers. */
interface ILastCheck<P extends JobPlan> extends IChecked<P> {
  lastPlan: P | null;
  of?: IFilled;
  by?: AskPlan<P>;
}

interface IChecking<P extends JobPlan> {
  filled: IFilled | null;
  /** Errors of the form itself: the rest of it is checked nevertheless. */
  faults: readonly IFault[];
  /** Requests a plan. If another function is passed, the form is checked again. */
  ask: AskPlan<P>;
  notebook: INotebook;
  trans: TranslationBundle;
}

interface IRound {
  /** Ask the scheduler, too. */
  asks: boolean;
}

/** Whether a plan has problems: the server would refuse it. */
export function isHindered(plan: JobPlan): boolean {
  return plan.findings.some(finding => finding.severity === 'problem');
}

/**
 * An answer without what is only wrong with the file: parameters that it lacks, while the notebook assigns them.
 *
 * @param parameters - assignments of the notebook's tagged cell
 */
function withoutStale<P extends JobPlan>(
  checked: IChecked<P>,
  parameters: string
): IChecked<P> {
  const assigned = new Set(
    [...parameters.matchAll(/^(\w+) *[:=]/gm)].map(([, name]) => name)
  );
  const isStale = (code: string, parameter: unknown): boolean =>
    code === 'no_such_parameter' && assigned.has(String(parameter));
  const { plan, error } = checked;
  return {
    ...checked,
    plan: plan && {
      ...plan,
      findings: plan.findings.filter(f => !isStale(f.code, f.parameter))
    },
    error:
      error && isStale(error.body.code, error.body.details.parameter)
        ? null
        : error
  };
}

/** A request for the server, with the names that the kernel defines. */
export async function wantedWith(
  filled: IFilled,
  notebook: INotebook
): Promise<WantedJob> {
  const names = await notebook.names();
  const { form, defaults } = followedIn(filled, notebook);
  return { ...wantedOf(form, notebook.path, defaults), names };
}

/** Requests the plan of a job. */
export function useJobPlan(jobs: IJobs, notebook: INotebook): AskPlan<JobPlan> {
  return useCallback(
    async (filled, asks) => jobs.plan(await wantedWith(filled, notebook), asks),
    [jobs, notebook]
  );
}

/**
 * The server's answer for the current form; requested after each edit, when the notebook is saved, when its
 * busy kernel becomes idle, and when the network is back.
 */
export function useCheck<P extends JobPlan>(
  props: IChecking<P>
): {
  checked: IChecked<P>;
  /** Whether the notebook has code that its file, which is checked, lacks. */
  unsaved: boolean;
  /** The latest plan, also while there is an error; null before the first. */
  lastPlan: P | null;
  again: () => void;
  refuse: (error: RequestError) => void;
  /** Check it now; resolves to the plan, which is shown, and rejects if there is none. */
  renew: () => Promise<P>;
} {
  const { filled, faults, ask, notebook, trans } = props;
  const [checked, setChecked] = useState<ILastCheck<P>>({
    plan: null,
    error: null,
    busy: true,
    lastPlan: null
  });
  const unsaved = useUnsaved(notebook);
  const [round, setRound] = useState<IRound>({ asks: false });
  const done = useRef<IRound | null>(null);
  const latest = useRef(0);
  const now = useLatest({ of: filled ?? undefined, by: ask });

  useEffect(() => {
    const recheck = (): void => setRound({ asks: false });
    const ends = [notebook.onSaved(recheck), notebook.onIdle(recheck)];
    window.addEventListener('online', recheck);
    return () => {
      ends.forEach(end => end());
      window.removeEventListener('online', recheck);
    };
  }, [notebook]);

  useEffect(() => {
    if (!filled) {
      return;
    }
    const mine = ++latest.current;
    setChecked(before => ({ ...before, busy: true }));
    const timer = window.setTimeout(() => {
      const asks = round.asks && done.current !== round;
      done.current = round;
      void check(soundPart(filled, faults), ask, asks, trans).then(found => {
        if (mine === latest.current) {
          setChecked(({ lastPlan }) => ({
            ...found,
            of: filled,
            by: ask,
            lastPlan: found.plan ?? lastPlan
          }));
        }
      });
    }, CHECK_AFTER);
    return () => clearTimeout(timer);
  }, [filled, faults, round, ask, trans]);

  // between an edit and its check, the answer is for the previous form
  const old = checked.of !== (filled ?? undefined) || checked.by !== ask;
  const answer = { ...checked, busy: checked.busy || old };
  return {
    checked: unsaved ? withoutStale(answer, notebook.parameters) : answer,
    unsaved,
    lastPlan: checked.lastPlan,
    again: () => setRound({ asks: true }),
    refuse: error => {
      // a running check must not overwrite this answer
      latest.current += 1;
      setChecked(before => ({ ...before, ...now.current, error, busy: false }));
    },
    renew: async () => {
      const { of, by } = now.current;
      const plan = await by(of!, false);
      // nor must the one that began when the notebook was saved
      latest.current += 1;
      setChecked({
        ...now.current,
        plan,
        lastPlan: plan,
        error: null,
        busy: false,
        at: new Date()
      });
      return plan;
    }
  };
}

/** Whether the notebook has code that its file, which is checked, lacks. */
function useUnsaved(notebook: INotebook): boolean {
  return useSyncExternalStore(notebook.onUnsaved, () => notebook.unsaved);
}

/**
 * Sends a form on request, once at a time; if it is being checked, right after its check, unless it is edited
 * before.
 *
 * @param send - calls its argument when it is certain to send
 * @returns whether it is being sent or waits for its check, and the function that requests sending
 */
export function useSending(
  form: unknown,
  busy: boolean,
  send: (sends: () => void) => Promise<void>
): [boolean, () => void] {
  const [waits, setWaits] = useState(false);
  const [sending, setSending] = useState(false);
  // a second click may arrive before the next render
  const underWay = useRef(false);
  const latest = useLatest(send);
  const begin = useCallback((): void => {
    if (underWay.current) {
      return;
    }
    underWay.current = true;
    void latest
      .current(() => setSending(true))
      .finally(() => {
        underWay.current = false;
        setSending(false);
      });
  }, [latest]);
  useEffect(() => setWaits(false), [form]);
  useEffect(() => {
    if (waits && !busy) {
      setWaits(false);
      begin();
    }
  }, [waits, busy, begin]);
  return [sending || waits, () => (busy ? setWaits(true) : begin())];
}

/** A form without its own errors, for the other errors that the server finds. */
function soundPart(filled: IFilled, faults: readonly IFault[]): IFilled {
  const { form, defaults } = filled;
  return { ...filled, form: withoutFaults(form, faults, defaults) };
}

async function check<P extends JobPlan>(
  filled: IFilled,
  ask: AskPlan<P>,
  asks: boolean,
  trans: TranslationBundle
): Promise<IChecked<P>> {
  try {
    const plan = await ask(filled, asks);
    return { plan, error: null, busy: false, at: new Date() };
  } catch (failure) {
    const error = refusalOf(failure, trans);
    return { plan: null, error, busy: false };
  }
}
