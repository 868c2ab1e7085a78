import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Sweep, Trial } from '../../tokens';
import {
  reasonText,
  sweepGlyph,
  sweepHint,
  sweepSentence,
  sweepState
} from './sweeps';

const trans = nullTranslator.load('');
/** Marks what was translated. */
const other = {
  ...trans,
  __: (text: string, ...values: unknown[]) =>
    `«${trans.__(text, ...(values as string[]))}»`
} as typeof trans;
type Reason = NonNullable<Trial['reason']>;
const at = { objective: 'loss', value: 1.25, step: 12 };

it.each<[Reason, string]>([
  [
    { code: 'behind', values: { ...at, trials: 6 }, text: '' },
    'loss was 1.25 at step 12, not among the best third of 6 trials there.'
  ],
  [
    { code: 'not_finite', values: { ...at, value: 'nan' }, text: '' },
    'The last loss is nan, at step 12.'
  ],
  [
    { code: 'not_finite_early', values: { ...at, value: null }, text: '' },
    'loss was not finite at step 12.'
  ],
  [
    {
      code: 'no_objective',
      values: { objective: 'loss', names: ['a', 'b'] },
      text: ''
    },
    '"loss" was never reported; the trial reported a, b.'
  ],
  [
    {
      code: 'no_objective',
      values: { objective: 'loss', names: [] },
      text: ''
    },
    '"loss" was never reported; the trial reported nothing.'
  ],
  [
    {
      code: 'rank_failed',
      values: { rank: 1, cell: '[2]', line: 3, type: 'E', message: 'why' },
      text: ''
    },
    'Rank 1, cell [2], line 3: E: why'
  ],
  [
    { code: 'job_deleted', values: {}, text: '' },
    "The trial's job was deleted."
  ],
  [
    { code: 'job_cancelled', values: {}, text: '' },
    "The trial's job was cancelled."
  ],
  [{ code: 'job_failed', values: {}, text: '' }, "The trial's job failed."],
  [
    { code: 'job_failed', values: { why: 'exit code 3.', took: '' }, text: '' },
    'Failed: exit code 3.'
  ],
  [
    { code: 'job_failed', values: { why: 'no.', took: '5 s' }, text: '' },
    'Failed after 5 s: no.'
  ],
  [
    { code: 'job_lost', values: { total: 2 }, text: '' },
    "The trial's job is lost."
  ]
])('says by its code why a trial is as it is: %o', (reason, words) => {
  expect(reasonText(reason, trans)).toBe(words);
  expect(reasonText(reason, other)).toBe(`«${words}»`);
});

it('shows a reason that is new to it as it stands', () => {
  const reason = { code: 'slots', values: {}, text: '1 of 8 slots are free.' };
  expect(reasonText(reason, other)).toBe('1 of 8 slots are free.');
});

it('says in the sentence of a sweep why none of its trials has succeeded', () => {
  const reason = { code: 'no_objective', message: 'EN', hint: 'EN' };
  const trial = {
    number: 0,
    state: 'failed',
    reason: {
      code: 'no_objective',
      values: { objective: 'loss', names: ['a'] },
      text: 'EN'
    }
  };
  const sweep = {
    state: 'failed',
    objective: 'loss',
    best: null,
    reason,
    trials: [trial],
    summary: { values: { done: 0, total: 4, failed: 1 } }
  } as unknown as Sweep;
  expect(sweepSentence(sweep, trans)).toBe(
    'Failed: 0 of 4 trials done, 1 failed. Trial 0: "loss" was never reported; the trial reported a.'
  );
  expect(sweepHint(sweep, trans)).toContain('Call dt.log(step, loss=…)');
  const values = { done: 2, early: 1, total: 4, failed: 1 };
  expect(
    sweepSentence({ ...sweep, summary: { values } } as unknown as Sweep, trans)
  ).toContain('2 of 4 trials done, 1 stopped early, 1 failed');
  const none = { ...sweep, reason: { ...reason, code: 'no_success' } } as Sweep;
  expect(sweepSentence(none, trans)).toContain(
    'No trial has succeeded. "loss" was never reported'
  );
});

it('does not call done what has finished with failed trials', () => {
  const sweep = (code: string, failed: number): Sweep =>
    ({
      state: 'succeeded',
      objective: 'loss',
      best: { value: 0.5, number: 0 },
      reason: null,
      trials: [],
      summary: { code, values: { done: 4 - failed, total: 4, failed } }
    }) as unknown as Sweep;
  const shown = (of: Sweep): string[] => [
    sweepGlyph(of),
    sweepState(of, trans),
    sweepSentence(of, trans)
  ];
  expect(shown(sweep('sweep_succeeded', 0))).toEqual([
    'good',
    'Done',
    '4 of 4 trials done; best loss 0.5 in trial 0.'
  ]);
  expect(shown(sweep('sweep_partly_succeeded', 2))).toEqual([
    'partly good',
    'Finished',
    'Finished: 2 of 4 trials done, 2 failed; best loss 0.5 in trial 0.'
  ]);
});
