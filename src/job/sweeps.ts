import { TranslationBundle } from '@jupyterlab/translation';
import { useState } from 'react';

import { CommandIDs } from '../commands';
import { ISweeps, Job, Sweep } from '../tokens';
import { formatValue } from '../ui/format';
import { GlyphKind } from '../ui/glyph';
import { IMenuItem } from '../ui/menu';
import { usePoll } from './poll';
import { JobFilter } from './words';

/** How often sweeps are asked for while one of them runs, ms. */
const LOOK_MS = 2000;

/** It will not change by itself any more. */
export function sweepEnded(sweep: Sweep): boolean {
  return sweep.state !== 'running' && sweep.state !== 'stopping';
}

/** Sweeps, newest first: asked for again while one runs, and when a trial's job begins or ends. */
export function useSweeps(
  sweeps: ISweeps | null,
  jobs: readonly Job[]
): readonly Sweep[] {
  const [found, setFound] = useState<readonly Sweep[]>([]);
  const trials = jobs.filter(j => j.sweep).map(j => `${j.id} ${j.state}`);
  usePoll(`sweeps ${trials.join()}`, LOOK_MS, async () => {
    if (!sweeps) {
      return false;
    }
    const all = await sweeps.all();
    setFound(all);
    return all.some(sweep => !sweepEnded(sweep));
  });
  return found;
}

/** The glyph of a sweep's state. */
export function sweepGlyph(sweep: Sweep): GlyphKind {
  const glyphs: Record<Sweep['state'], GlyphKind> = {
    running: sweep.reason ? 'waiting' : 'busy',
    stopping: 'starting',
    stopped: 'interrupted',
    succeeded: 'good',
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
  return words[sweep.state];
}

/** How a sweep stands, in one sentence: "9 of 16 trials done; best loss 0.213 in trial 6." */
export function sweepSentence(sweep: Sweep, trans: TranslationBundle): string {
  const { best, objective, reason, state } = sweep;
  const { done, total, failed } = sweep.summary.values as Record<
    string,
    number
  >;
  let text = failed
    ? trans.__('%1 of %2 trials done, %3 failed', done, total, failed)
    : trans.__('%1 of %2 trials done', done, total);
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
  const said = whole[state] ?? trans.__('%1.', text);
  return reason ? `${said} ${reason.message}` : said;
}

/** How long it has run, s. */
export function sweepTime(sweep: Sweep, now: number): number {
  return (sweep.ended_at ?? now / 1000) - sweep.created_at;
}

export function sweepPasses(sweep: Sweep, filter: JobFilter): boolean {
  switch (filter) {
    case 'active':
      return !sweepEnded(sweep);
    case 'failed':
      return sweep.state === 'failed';
    case 'done':
      return sweep.state === 'succeeded' || sweep.state === 'stopped';
    default:
      return true;
  }
}

/** Does a sweep match what was typed: part of its name, state, profile or notebook? */
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

/** What can be done with a sweep, as a menu. */
export function menuOfSweep(sweep: Sweep): IMenuItem[] {
  const args = { id: sweep.id, name: sweep.name };
  const wanted: [string, boolean][] = [
    [CommandIDs.openSweep, true],
    [CommandIDs.stopSweep, sweep.may.includes('stop')],
    [CommandIDs.resumeSweep, sweep.may.includes('resume')]
  ];
  return wanted.filter(w => w[1]).map(([command]) => ({ command, args }));
}
