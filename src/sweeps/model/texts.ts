import { TranslationBundle } from '@jupyterlab/translation';

import { Sweep, Trial } from '../../tokens';
import { formatCount, formatRanks, formatValue } from '../../metrics/format';
import { GlyphKind } from '../../verdicts/glyphKind';
import { ISweepFault, SweepField } from './formRequest';

const GLYPHS: Record<Trial['state'], GlyphKind> = {
  waiting: 'waiting',
  running: 'busy',
  resumed: 'busy',
  succeeded: 'good',
  pruned: 'cancelled',
  failed: 'failed',
  stopped: 'interrupted'
};

/** The glyph of a trial's state. */
export function trialGlyph(trial: Trial): GlyphKind {
  return GLYPHS[trial.state];
}

/** A trial's state in a few words: one that was continued has resumed at a step, or started over. */
export function trialState(trial: Trial, trans: TranslationBundle): string {
  const words: Record<Trial['state'], string> = {
    waiting: trans.__('Waiting'),
    running: trans.__('Running'),
    resumed:
      trial.resumed_step === null
        ? trans.__('Started over')
        : trans.__('Resumed at step %1', formatCount(trial.resumed_step)),
    succeeded: trans.__('Done'),
    pruned: trans.__('Stopped early'),
    failed: trans.__('Failed'),
    stopped: trans.__('Stopped')
  };
  return words[trial.state];
}

/** How often a trial was continued, and from which step last. */
export function resumedText(trial: Trial, trans: TranslationBundle): string {
  const { resumes, resumed_step: step } = trial;
  if (step === null && trial.begins_again) {
    return trans._n(
      'Started over once: its notebook loads no checkpoint (dt.latest_checkpoint).',
      'Started over %1 times: its notebook loads no checkpoint (dt.latest_checkpoint).',
      resumes
    );
  }
  return step === null
    ? trans._n(
        'Started over once: the trial had saved no checkpoint (dt.checkpoint).',
        'Continued %1 times. The last time it started over: the trial had saved no checkpoint (dt.checkpoint).',
        resumes
      )
    : trans._n(
        'Resumed once, from its checkpoint of step %2.',
        'Resumed %1 times, last from its checkpoint of step %2.',
        resumes,
        formatCount(step)
      );
}

/** Why a sweep that has ended has no objective to show. */
export function noObjective(sweep: Sweep, trans: TranslationBundle): string {
  const reported = sweep.trials.some(trial =>
    trial.reason?.code.startsWith('not_finite')
  );
  return reported
    ? trans.__('No trial has reported a finite %1.', sweep.objective)
    : trans.__('No trial has reported %1.', sweep.objective);
}

/** A trial's parameters in a line: "lr 0.003, width 64". */
export function parametersLine(trial: Trial): string {
  return Object.entries(trial.parameters)
    .map(([name, value]) => `${name} ${formatValue(value)}`)
    .join(', ');
}

/** Filters of the table. */
export type TrialFilter = 'all' | 'active' | 'done' | 'pruned' | 'failed';

export function passes(trial: Trial, filter: TrialFilter): boolean {
  switch (filter) {
    case 'active':
      return ['waiting', 'running', 'resumed'].includes(trial.state);
    case 'done':
      return trial.state === 'succeeded';
    case 'pruned':
      return trial.state === 'pruned';
    case 'failed':
      return trial.state === 'failed' || trial.state === 'stopped';
    default:
      return true;
  }
}

/** Numbers of trials: successful ones first, best first, then the others by their values. */
export function bestFirst(sweep: Sweep): number[] {
  const sign = sweep.direction === 'minimize' ? 1 : -1;
  const rank = (trial: Trial): number =>
    trial.value === null ? 2 : trial.state === 'succeeded' ? 0 : 1;
  return [...sweep.trials]
    .sort(
      (a, b) =>
        rank(a) - rank(b) ||
        sign * ((a.value ?? 0) - (b.value ?? 0)) ||
        a.number - b.number
    )
    .map(trial => trial.number);
}

/**
 * That trials which did not finish don't count, where some of them are ahead of the best; empty if none is.
 */
export function uncountedText(sweep: Sweep, trans: TranslationBundle): string {
  const { best } = sweep;
  if (best === null || best.value === null) {
    return '';
  }
  const sign = sweep.direction === 'minimize' ? 1 : -1;
  const limit = sign * best.value;
  const ahead = sweep.trials
    .filter(t => t.value !== null && sign * t.value < limit)
    .filter(t => ['pruned', 'stopped', 'failed'].includes(t.state))
    .map(t => t.number);
  return ahead.length
    ? trans._n(
        'Only trials that are done count: trial %2 was ahead when it ended.',
        'Only trials that are done count: trials %2 were ahead when they ended.',
        ahead.length,
        formatRanks(ahead)
      )
    : '';
}

/** Message of an error of a field, beside it. */
export function faultText(
  fault: ISweepFault,
  trans: TranslationBundle
): string {
  const name = fault.parameter ?? '';
  const words: Record<ISweepFault['code'], string> = {
    'no values': trans.__('%1 has no values. Write them with commas.', name),
    'mixed types': fault.value
      ? fault.strings
        ? trans.__(
            'Not all values of %1 are strings: %2 is not.',
            name,
            fault.value
          )
        : trans.__(
            'Not all values of %1 are numbers: %2 is not.',
            name,
            fault.value
          )
      : trans.__('The values of %1 are of mixed types.', name),
    twice: trans.__('%1 lists a value twice.', name),
    'no number': trans.__('%1 needs two numbers: from and to.', name),
    'not whole': trans.__('%1 needs whole numbers.', name),
    'not above 0': trans.__(
      '%1 must begin above 0 for a logarithmic scale.',
      name
    ),
    'no room': trans.__(
      'The range of %1 is empty: "from" must be less than "to".',
      name
    ),
    'no parameters': trans.__(
      'No cell that assigns values is tagged "parameters".'
    ),
    'nothing varies': trans.__(
      'No parameter varies yet. Give one a list of values or a range.'
    ),
    'no objective': trans.__(
      'Name a value that the notebook passes to dt.log.'
    ),
    'no grid': trans.__(
      'A grid needs lists or whole numbers; a range has infinitely many values.'
    ),
    'no count': trans.__('Enter a whole number, 1 to 10,000.')
  };
  return words[fault.code];
}

/** An error of a field, displayed apart from it: prefixed with the field's name, unless it names a subject itself. */
export function faultSentence(
  fault: ISweepFault,
  trans: TranslationBundle
): string {
  const text = faultText(fault, trans);
  return fault.code === 'no count'
    ? trans.__('%1: %2', fieldText(fault.field, trans), text)
    : text;
}

/** Label of a field. */
export function fieldText(field: SweepField, trans: TranslationBundle): string {
  const words: Record<SweepField, string> = {
    vary: trans.__('Vary'),
    objective: trans.__('Objective'),
    sampler: trans.__('Sampler'),
    trials: trans.__('Trials'),
    parallel: trans.__('At once')
  };
  return words[field];
}
