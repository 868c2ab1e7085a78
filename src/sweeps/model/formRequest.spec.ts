import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { emptyForm } from '../../job/model/formRequest';
import { Sweep, Trial } from '../../tokens';
import {
  emptySweep,
  ISweepForm,
  withoutRemoved,
  sweepFaults,
  trialsOf,
  UNSIZED,
  wantedSweep
} from './formRequest';
import {
  around,
  changedKind,
  IVary,
  kindsOf,
  oddIn,
  valuesIn,
  varyFault
} from './searchSpace';
import { faultText, noObjective, resumedText, trialState } from './texts';

const DEFAULTS = 'lr = 0.01\nlayers = 4\nsteps = 100\nkind = "sgd"';
const of = (kind: IVary['kind'], more: Partial<IVary> = {}): IVary => ({
  kind,
  values: '',
  low: '',
  high: '',
  ...more
});
const SWEEP: ISweepForm = {
  ...emptySweep(['loss']),
  vary: {
    lr: of('loguniform', { low: '1e-4', high: '0.1' }),
    layers: of('list', { values: '2, 4, 8' }),
    steps: of('fixed')
  }
};

it('asks for what varies, and for what is fixed as it was typed', () => {
  const form = {
    ...emptyForm(undefined, DEFAULTS),
    parameters: 'lr = 0.5\nlayers = 4\nsteps = 20\nkind = "sgd"',
    ranksPerNode: '2'
  };
  expect(sweepFaults(SWEEP)).toEqual([]);
  expect(wantedSweep(SWEEP, form, 'a.ipynb', DEFAULTS)).toMatchObject({
    notebook: 'a.ipynb',
    space: { lr: 'loguniform(1e-4, 0.1)', layers: [2, 4, 8] },
    parameters: { steps: 20 },
    objective: 'loss',
    direction: 'minimize',
    ranks_per_node: 2,
    trials: null,
    pruner: null
  });
});

it('leaves the size of a trial to the server where nobody typed one', () => {
  const form = { ...emptyForm(undefined, ''), ...UNSIZED };
  const wanted = wantedSweep(SWEEP, form, 'a.ipynb', '');
  expect(JSON.parse(JSON.stringify(wanted))).not.toHaveProperty('nodes');
  expect(wanted.ranks_per_node).toBeUndefined();
});

it('forgets a parameter that the notebook has no longer', () => {
  const gone = { ...SWEEP, vary: { ...SWEEP.vary, gone: of('list') } };
  expect(sweepFaults(gone).map(f => f.parameter)).toEqual(['gone']);
  expect(sweepFaults(withoutRemoved(gone, DEFAULTS))).toEqual([]);
  const codes = sweepFaults(withoutRemoved(SWEEP, 'rate = 1')).map(f => f.code);
  expect(codes).toEqual(['nothing varies']);
});

it('says what is wrong before anybody is asked', () => {
  const codes = (form: Partial<ISweepForm>): string[] =>
    sweepFaults({ ...SWEEP, ...form }).map(f => f.code);
  expect(codes({ vary: {} })).toEqual(['nothing varies']);
  expect(codes({ objective: 'a b' })).toEqual(['no objective']);
  expect(codes({ objective: 'lambda' })).toEqual(['no objective']);
  expect(codes({ sampler: 'grid' })).toEqual(['no grid']);
  expect(codes({ trials: '0', parallel: 'x' })).toEqual([
    'no count',
    'no count'
  ]);
});

it('knows how a parameter can be wrong', () => {
  const fault = (kind: IVary['kind'], more: Partial<IVary>): unknown =>
    varyFault(of(kind, more));
  expect(fault('list', { values: ' , ' })).toBe('no values');
  expect(fault('list', { values: '1, x' })).toBe('mixed types');
  expect(oddIn('1, abc, 2')).toEqual({ value: 'abc' });
  // the notebook has a string: the number is the odd one
  const odd = { value: '3', strings: true };
  expect(oddIn("'sgd', 3", "'adam'")).toEqual(odd);
  const vary = { opt: { kind: 'list', values: "'sgd', 3" } };
  const form = { ...SWEEP, vary } as unknown as ISweepForm;
  const [mixed] = sweepFaults(form, [
    { name: 'opt', value: "'adam'" }
  ] as never);
  expect(faultText(mixed, nullTranslator.load('dtrain_lab'))).toBe(
    'Not all values of opt are strings: 3 is not.'
  );
  expect(oddIn('abc, True')).toBeNull();
  expect(fault('list', { values: '1, 1' })).toBe('twice');
  expect(fault('list', { values: '1.0, 1' })).toBe('twice');
  expect(fault('list', { values: '0.0, 1.0, 2.5' })).toBeNull();
  expect(fault('list', { values: '"a, b", c, None' })).toBeNull();
  expect(valuesIn("[1, 2], it's, 'a, b'")).toEqual([
    '[1, 2]',
    "it's",
    "'a, b'"
  ]);
  expect(fault('uniform', { low: '', high: '1' })).toBe('no number');
  expect(fault('randint', { low: '1', high: '2.5' })).toBe('not whole');
  expect(fault('loguniform', { low: '0', high: '1' })).toBe('not above 0');
  expect(fault('uniform', { low: '1', high: '1' })).toBe('no room');
});

it('counts trials: the whole grid, 16, or as many as there are combinations', () => {
  const listed = { layers: of('list', { values: '2, 4, 8' }) };
  expect(trialsOf(SWEEP)).toBe(16);
  expect(trialsOf({ ...SWEEP, trials: '30' })).toBe(30);
  expect(trialsOf({ ...SWEEP, vary: listed })).toBe(3);
  const whole = { n: of('randint', { low: '1', high: '40' }) };
  expect(trialsOf({ ...SWEEP, vary: whole })).toBe(16);
  expect(trialsOf({ ...SWEEP, vary: whole, sampler: 'grid' })).toBe(40);
});

it('offers only what fits the type of a parameter', () => {
  const numbers = ['fixed', 'list', 'loguniform', 'uniform', 'randint'];
  for (const number of ['0.01', '4', '-3e-5', '2 ** 8', 'None', 'width * 2']) {
    expect(kindsOf(number)).toEqual(numbers);
  }
  for (const other of ['"sgd"', "'adam'", "r'C:\\data'", 'f"{a}"', 'True']) {
    expect(kindsOf(other)).toEqual(['fixed', 'list']);
  }
  expect(kindsOf('[1, 2]')).toEqual(['fixed']);
  expect(kindsOf('{"a": 1}')).toEqual(['fixed']);
});

it('proposes a range anew for another kind, unless somebody edited it', () => {
  const offered = around('0.01', 'loguniform');
  expect(changedKind(offered, 'uniform', '0.01')).toMatchObject({
    kind: 'uniform',
    low: '0.005',
    high: '0.02'
  });
  const edited = { ...offered, low: '1e-5' };
  expect(changedKind(edited, 'uniform', '0.01').low).toBe('1e-5');
  expect(changedKind(edited, 'randint', '0.01').low).toBe('1');
});

it('offers a range around what the notebook has', () => {
  expect(around('0.01')).toMatchObject({ low: '0.001', high: '0.1' });
  expect(around('3e-5')).toMatchObject({ low: '3e-6', high: '3e-4' });
  expect(around('0.5', 'uniform')).toMatchObject({ low: '0.25', high: '1' });
  expect(around('-0.5', 'uniform')).toMatchObject({ low: '-1', high: '-0.25' });
  expect(around('4')).toMatchObject({ values: '2, 4, 8', low: '2', high: '8' });
  expect(around('1')).toMatchObject({ values: '1, 2' });
  expect(around('0.1', 'randint')).toMatchObject({ low: '1', high: '2' });
  expect(around('-4', 'randint')).toMatchObject({ low: '-8', high: '-2' });
  expect(around('-0.1')).toMatchObject({ low: '-1', high: '-0.01' });
  expect(around('1.0')).toMatchObject({ low: '0.1', values: '0.1, 1.0, 10' });
  for (const zero of ['0', '0.0', '-0.0']) {
    expect(around(zero)).toMatchObject({ values: zero, low: '0', high: '1' });
  }
  expect(around('True').values).toBe('True, False');
  expect(around('"sgd"').values).toBe('"sgd"');
  // what is no number is offered as it is
  for (const other of ['None', '[3]', '{"a": 1.0}', '2 ** 3', '1e999']) {
    const offered = { values: other, low: '0', high: '1' };
    expect(around(other)).toMatchObject(offered);
  }
});

it('sends no count that is none', () => {
  for (const text of ['1.5', '-1', 'x', '0']) {
    const wanted = wantedSweep(
      { ...SWEEP, trials: text, parallel: text },
      emptyForm(undefined, ''),
      'a.ipynb',
      ''
    );
    expect([wanted.trials, wanted.parallel]).toEqual([null, null]);
  }
});

it('takes the direction from the name of the objective', () => {
  expect(emptySweep(['accuracy']).direction).toBe('maximize');
  expect(emptySweep(['loss']).direction).toBe('minimize');
  expect(emptySweep(['accumulated_loss']).direction).toBe('minimize');
  expect(emptySweep([]).objective).toBe('');
});

it('tells NaN from an objective that was never reported', () => {
  const said = (...codes: string[]): string => {
    const trials = codes.map(code => ({ reason: { code } }));
    const sweep = { objective: 'loss', trials } as unknown as Sweep;
    return noObjective(sweep, nullTranslator.load(''));
  };
  expect(said('no_objective')).toBe('No trial has reported loss.');
  expect(said('job_failed', 'not_finite')).toBe(
    'No trial has reported a finite loss.'
  );
});

it('tells whether a trial went on or started over', () => {
  const said = (resumes: number, resumed_step: number | null): string =>
    resumedText(
      { resumes, resumed_step } as Trial,
      nullTranslator.load('dtrain_lab')
    );
  expect(said(1, 40)).toBe('Resumed once, from its checkpoint of step 40.');
  expect(said(3, 1200)).toBe(
    'Resumed 3 times, last from its checkpoint of step 1,200.'
  );
  expect(said(1, null)).toBe(
    'Started over once: the trial had saved no checkpoint (dt.checkpoint).'
  );
  expect(said(2, null)).toContain('The last time it started over');
  const trans = nullTranslator.load('dtrain_lab');
  const trial = (resumed_step: number | null): Trial =>
    ({ state: 'resumed', resumes: 1, resumed_step }) as Trial;
  expect(trialState(trial(1200), trans)).toBe('Resumed at step 1,200');
  expect(trialState(trial(null), trans)).toBe('Started over');
  const never = { ...trial(null), checkpoint_step: 9, begins_again: true };
  expect(resumedText(never, trans)).toBe(
    'Started over once: its notebook loads no checkpoint (dt.latest_checkpoint).'
  );
});
