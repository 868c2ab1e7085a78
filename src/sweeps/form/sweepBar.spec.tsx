import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { SweepPlan } from '../../tokens';
import { emptySweep } from '../model/formRequest';
import { SweepBar } from './sweepBar';

it('says how many run at once only where every field counts', () => {
  const said = (parallel: number | null, partial: boolean): string =>
    renderToStaticMarkup(
      <SweepBar
        sweep={{
          ...emptySweep(['loss']),
          vary: { lr: { kind: 'uniform', values: '', low: '0', high: '1' } }
        }}
        plan={{ parallel } as SweepPlan}
        partial={partial}
        why=""
        sending={false}
        saved={false}
        save={() => undefined}
        trans={nullTranslator.load('dtrain_lab')}
        send={() => undefined}
      />
    );
  expect(said(2, false)).toContain('2 at once');
  for (const wrong of [said(2, true), said(null, false)]) {
    expect(wrong).toContain('As many at once as there are free GPUs or cores');
  }
});

it('repeats no invalid number', () => {
  const said = (typed: { trials?: string; parallel?: string }): string =>
    renderToStaticMarkup(
      <SweepBar
        sweep={{ ...emptySweep(['loss']), ...typed }}
        plan={
          { parallel: 2, size: { nodes: 1, ranks_per_node: 1 } } as SweepPlan
        }
        partial
        why=""
        sending={false}
        saved={false}
        save={() => undefined}
        trans={nullTranslator.load('dtrain_lab')}
        send={() => undefined}
      />
    );
  expect(said({ trials: '20000' })).toContain('No valid number of trials');
  expect(said({ trials: '20000' })).not.toContain('20000');
  expect(said({ parallel: '-1' })).not.toMatch(/-1|at once/);
});
