import { nullTranslator } from '@jupyterlab/translation';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { SweepReport } from './sweepReport';
import { problemsOfSweep } from './checkSweep';
import { emptySweep, ISweepForm } from '../model/formRequest';
import { SweepPlan } from '../../tokens';
import { IFault } from '../../job/fields/fieldErrors';
import { CheckFindings } from '../../job/form/findings';
import { INotebook } from '../../job/form/notebook';

const trans = nullTranslator.load('dtrain_lab');
const plan = {
  findings: [],
  cells: 0,
  modules: null
} as unknown as SweepPlan;

/** Draws elements into the same root, one after the other, and returns the problems that the page then lists. */
function drawn(elements: readonly JSX.Element[]): string[][] {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const node = document.createElement('div');
  const root = createRoot(node);
  const texts = elements.map(element => {
    act(() => root.render(element));
    return [...node.querySelectorAll('[data-severity=problem] b')].map(
      item => item.textContent ?? ''
    );
  });
  act(() => root.unmount());
  return texts;
}

it('no longer lists a problem of a sweep that was corrected, and names its field', () => {
  const report = (typed: Partial<ISweepForm>): JSX.Element => {
    const sweep: ISweepForm = {
      ...emptySweep(['loss']),
      vary: { lr: { kind: 'list', values: '1, 2', low: '', high: '' } },
      ...typed
    };
    const checked = { plan, error: null, busy: false };
    const parameters = [{ name: 'lr', value: '1' }];
    const fields = { sweep, due: [], parameters, faults: [] };
    return (
      <SweepReport
        notebook={{} as INotebook}
        checked={checked}
        problems={problemsOfSweep(fields, checked, trans)}
        faults={[]}
        again={() => undefined}
        unsaved={false}
        focus={() => undefined}
        preview={null}
        trans={trans}
      />
    );
  };
  const trials = 'Trials: Enter a whole number, 1 to 10,000.';
  const parallel = 'At once: Enter a whole number, 1 to 10,000.';
  const wrong = { trials: '0', parallel: 'x' };
  const noValues = { kind: 'list', values: '', low: '', high: '' } as const;
  const all = report({ ...wrong, vary: { lr: noValues } });
  const right = report({ trials: '4', parallel: '' });
  const values = 'lr has no values. Write them with commas.';
  // another one above them is corrected first: React then looks for the others by their keys
  expect(
    drawn([
      all,
      report(wrong),
      report({ ...wrong, trials: '4' }),
      right,
      all,
      right
    ])
  ).toEqual([
    [values, trials, parallel],
    [trials, parallel],
    [parallel],
    [],
    [values, trials, parallel],
    []
  ]);
});

it('no longer lists a problem of a job that was corrected, though two were alike', () => {
  const findings = (faults: readonly IFault[]): JSX.Element => (
    <CheckFindings
      plan={plan}
      faults={faults}
      error={null}
      busy={false}
      trans={trans}
      open={() => undefined}
      openFault={() => undefined}
      save={null}
      again={() => undefined}
      preview={null}
    />
  );
  // the text of the parameters may assign one of them twice
  const fault = (parameter: string, text: string): IFault => ({
    field: 'parameters',
    parameter,
    text
  });
  const twice = [
    fault('lr', 'lr has no value.'),
    fault('lr', 'lr: "x" is not a number.')
  ];
  const other = fault('width', 'width has no value.');
  expect(
    drawn([findings([other, ...twice]), findings(twice), findings([])])
  ).toEqual([
    [other.text, ...twice.map(f => f.text)],
    twice.map(f => f.text),
    []
  ]);
});
