import { TranslationBundle } from '@jupyterlab/translation';
import { useEffect, useReducer, useState } from 'react';

import { SWEEP_PARTLY_SUCCEEDED } from '../../api/states';
import { CommandIDs } from '../../commands';
import {
  ActiveSweeps,
  ISweeps,
  Job,
  Sweep,
  Trial,
  UnreadableSweep
} from '../../tokens';
import { formatValue } from '../../metrics/format';
import { GlyphKind } from '../../verdicts/glyphKind';
import { IMenuItem } from '../../ui/menu';
import { useViewState } from '../../ui/viewState';
import { usePoll } from '../../ui/hooks/poll';
import { useLatest } from '../../ui/hooks/useLatest';

/** Polling interval while a sweep runs, ms. */
const LOOK_MS = 2000;

/** Whether it will not change any more by itself. */
export function sweepEnded(sweep: Sweep): boolean {
  return sweep.state !== 'running' && sweep.state !== 'stopping';
}

/**
 * Sweeps, newest first: polled while one runs, when one or a trial's job starts or ends, and when one was removed.
 *
 * @param active - what the last frame said of sweeps
 * @returns null until they are known; the last known ones if the server does not answer
 */
export function useSweeps(
  sweeps: ISweeps | null,
  jobs: readonly Job[],
  active: ActiveSweeps
): readonly Sweep[] | null {
  const [found, setFound] = useViewState<readonly Sweep[] | null>(
    'sweeps',
    sweeps ? null : []
  );
  useSeen(sweeps, seen =>
    setFound(
      before =>
        before?.map(sweep => seen.find(s => s.id === sweep.id) ?? sweep) ?? null
    )
  );
  const trials = jobs.filter(j => j.sweep).map(j => `${j.id} ${j.state}`);
  const removals = useRemovals(sweeps);
  const states = Object.entries(active).join();
  usePoll(
    `sweeps ${removals} ${states} ${trials.join()}`,
    LOOK_MS,
    async () => {
      if (!sweeps) {
        return false;
      }
      const all = await sweeps.all();
      setFound(all);
      return all.some(sweep => !sweepEnded(sweep));
    }
  );
  return found;
}

/** Take what the server has told any view of sweeps. */
export function useSeen(
  sweeps: ISweeps | null,
  take: (seen: readonly Sweep[]) => void
): void {
  const latest = useLatest(take);
  useEffect(() => {
    const heard = (_: ISweeps, seen: readonly Sweep[]): void =>
      latest.current(seen);
    sweeps?.seen.connect(heard);
    return () => {
      sweeps?.seen.disconnect(heard);
    };
  }, [sweeps, latest]);
}

/** The number of sweeps that were removed here: with each, what is listed is asked for again. */
export function useRemovals(sweeps: ISweeps | null): number {
  const [removals, count] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    sweeps?.removed.connect(count);
    return () => {
      sweeps?.removed.disconnect(count);
    };
  }, [sweeps]);
  return removals;
}

/**
 * Sweeps that can't be read: requested when the list is drawn, and when the number of readable sweeps
 * changes.
 */
export function useUnreadable(
  sweeps: ISweeps | null,
  readable: number
): readonly UnreadableSweep[] {
  const [found, setFound] = useState<readonly UnreadableSweep[]>([]);
  usePoll(`unreadable sweeps ${readable}`, LOOK_MS, async () => {
    if (sweeps) {
      setFound(await sweeps.unreadable());
    }
    return false;
  });
  return found;
}

/** Why a sweep is not in the list, and what to do. */
export function unreadableSentence(
  sweep: UnreadableSweep,
  trans: TranslationBundle
): string {
  const { id, name, message, hint } = sweep;
  const called = name ? `${name} (${id})` : id;
  return trans.__("Sweep %1 can't be shown: %2 %3", called, message, hint);
}

/** Whether it has succeeded though some of its trials failed or were stopped. */
function partlySucceeded({ summary }: Sweep): boolean {
  return summary.code === SWEEP_PARTLY_SUCCEEDED;
}

/** The glyph of a sweep's state. */
export function sweepGlyph(sweep: Sweep): GlyphKind {
  const glyphs: Record<Sweep['state'], GlyphKind> = {
    running: sweep.reason ? 'waiting' : 'busy',
    stopping: 'starting',
    stopped: 'interrupted',
    succeeded: partlySucceeded(sweep) ? 'partly good' : 'good',
    failed: 'failed'
  };
  return glyphs[sweep.state];
}

/** A sweep's state in one word. */
export function sweepState(sweep: Sweep, trans: TranslationBundle): string {
  const words: Record<Sweep['state'], string> = {
    running: trans.__('Running'),
    stopping: trans.__('Stopping'),
    stopped: trans.__('Stopped'),
    succeeded: trans.__('Done'),
    failed: trans.__('Failed')
  };
  return partlySucceeded(sweep) ? trans.__('Finished') : words[sweep.state];
}

/**
 * State of a sweep in one sentence: "9 of 16 trials done; best loss 0.213 in trial 6."
 *
 * Trials that were stopped early are mentioned: "8 of 16 trials done, 1 stopped early".
 */
export function sweepSentence(sweep: Sweep, trans: TranslationBundle): string {
  const { best, objective, reason, state } = sweep;
  const {
    done,
    early = 0,
    total,
    failed
  } = sweep.summary.values as Record<string, number>;
  let text = trans._n(
    '%2 of %1 trial done',
    '%2 of %1 trials done',
    total,
    done
  );
  if (early) {
    text = trans.__('%1, %2 stopped early', text, early);
  }
  if (failed) {
    text = trans.__('%1, %2 failed', text, failed);
  }
  if (best) {
    const value = formatValue(best.value);
    const where = [objective, value, best.number] as const;
    text = trans.__('%1; best %2 %3 in trial %4', text, ...where);
  }
  const whole: Partial<Record<Sweep['state'], string>> = {
    stopping: trans.__('Stopping: %1.', text),
    stopped: trans.__('Stopped: %1.', text),
    failed: trans.__('Failed: %1.', text)
  };
  const stateText = partlySucceeded(sweep)
    ? trans.__('Finished: %1.', text)
    : (whole[state] ?? trans.__('%1.', text));
  return reason ? `${stateText} ${sweepReason(sweep, trans)}` : stateText;
}

/** Why a sweep ended without success, or waits. */
function sweepReason(sweep: Sweep, trans: TranslationBundle): string {
  const { reason, trials } = sweep;
  const failed = trials.filter(t => t.state === 'failed' && t.reason);
  if (reason?.code === 'no_objective') {
    const first = failed.find(t => t.reason?.code === 'no_objective');
    return first?.reason
      ? trans.__('Trial %1: %2', first.number, reasonText(first.reason, trans))
      : reason.message;
  }
  if (reason?.code === 'no_success') {
    const why = failed[0]?.reason;
    return why
      ? trans.__('No trial has succeeded. %1', reasonText(why, trans))
      : trans.__('No trial has succeeded.');
  }
  return reason?.message ?? '';
}

/** Hint for the reason why a sweep ended or waits; empty for none. */
export function sweepHint(sweep: Sweep, trans: TranslationBundle): string {
  return sweep.reason?.code === 'no_objective'
    ? trans.__(
        'Call dt.log(step, %1=…) in the notebook, or name another objective.',
        sweep.objective
      )
    : (sweep.reason?.hint ?? '');
}

/** Why a trial waits, was stopped early or failed; in English if its code is unknown. */
export function reasonText(
  { code, values, text }: NonNullable<Trial['reason']>,
  trans: TranslationBundle
): string {
  const value = (key: string): string => String(values[key] ?? '');
  const number = (key: string): string => {
    const given = values[key];
    return typeof given === 'number' ? formatValue(given) : value(key);
  };
  const at = [value('objective'), number('value'), value('step')] as const;
  switch (code) {
    case 'behind':
      return trans.__(
        '%1 was %2 at step %3, not among the best third of %4 trials there.',
        ...at,
        value('trials')
      );
    case 'not_finite_early':
      return trans.__('%1 was not finite at step %2.', at[0], at[2]);
    case 'not_finite':
      return trans.__('The last %1 is %2, at step %3.', ...at);
    case 'no_objective': {
      const names = Array.isArray(values.names) ? values.names.join(', ') : '';
      return names
        ? trans.__(
            '"%1" was never reported; the trial reported %2.',
            at[0],
            names
          )
        : trans.__(
            '"%1" was never reported; the trial reported nothing.',
            at[0]
          );
    }
    case 'rank_failed':
      return trans.__(
        'Rank %1, cell %2, line %3: %4',
        value('rank'),
        value('cell'),
        value('line'),
        values.message ? `${value('type')}: ${value('message')}` : value('type')
      );
    case 'job_deleted':
      return trans.__("The trial's job was deleted.");
    case 'job_cancelled':
      return trans.__("The trial's job was cancelled.");
    case 'job_failed':
      return values.why === undefined
        ? trans.__("The trial's job failed.")
        : values.took
          ? trans.__('Failed after %1: %2', value('took'), value('why'))
          : trans.__('Failed: %1', value('why'));
    case 'job_lost':
      return trans.__("The trial's job is lost.");
    default:
      return text;
  }
}

/** Whether a sweep matches the filter: part of its name, state, profile or notebook. */
export function sweepPassesText(
  sweep: Sweep,
  text: string,
  trans: TranslationBundle
): boolean {
  const wanted = text.trim().toLowerCase();
  const { name, profile, notebook } = sweep;
  const has = [name, profile, notebook, sweepState(sweep, trans)];
  return [...has, trans.__('sweep')].some(part =>
    part.toLowerCase().includes(wanted)
  );
}

/** Menu with the actions for a sweep. */
export function menuOfSweep(sweep: Sweep): IMenuItem[] {
  const args = { id: sweep.id, name: sweep.name };
  const wanted: [string, boolean][] = [
    [CommandIDs.openSweep, true],
    [CommandIDs.stopSweep, sweep.may.includes('stop')],
    [CommandIDs.resumeSweep, sweep.may.includes('resume')],
    [CommandIDs.deleteSweep, sweep.may.includes('delete')]
  ];
  return wanted.filter(w => w[1]).map(([command]) => ({ command, args }));
}
