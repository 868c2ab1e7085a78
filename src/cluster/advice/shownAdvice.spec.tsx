import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { CommandIDs } from '../../commands';
import { makeCluster } from '../../testing/clusters';
import { makeCommands } from '../../testing/commands';
import { Tried } from '../../tokens';
import { AdviceState } from '../model/adviceState';
import { ShownAdvice } from './shownAdvice';

const trans = nullTranslator.load('dtrain_lab');

it('asks for no diagnosis while one runs', () => {
  const { metrics, summary } = makeCluster();
  const advice = (code: string): string =>
    renderToStaticMarkup(
      <ShownAdvice
        cluster={makeCluster({
          metrics: { ...metrics, no_advice: 'Too short.', current: false },
          may: ['stacks'],
          summary: { ...summary, code }
        })}
        commands={makeCommands()}
        adviceState={{} as never}
        trans={trans}
      />
    );
  expect(advice('ready')).toContain('Diagnose now');
  expect(advice('diagnosing')).toBe('');
});

it('has a link beside a reason that asks for another diagnosis, and beside no other one once there was one', () => {
  const { metrics, summary } = makeCluster();
  const advice = (diagnosis_helps: boolean): string =>
    renderToStaticMarkup(
      <ShownAdvice
        cluster={makeCluster({
          metrics: {
            ...metrics,
            no_advice: 'The last diagnosis was too unsteady. Diagnose later.',
            diagnosis_helps,
            measured: true,
            current: false
          },
          may: ['stacks'],
          summary: { ...summary, code: 'ready' }
        })}
        commands={makeCommands()}
        adviceState={{} as never}
        trans={trans}
      />
    );
  expect(advice(true)).toContain('Diagnose again');
  expect(advice(false)).not.toContain('<button');
});

const ADVICE = {
  id: 'workers',
  change: '',
  gain: 1.5,
  gain_error: 0,
  cost: '',
  diff: '',
  values: {},
  tried: null,
  tryable: true
};

it('offers no trial to those who may only watch', () => {
  const { metrics } = makeCluster();
  const shown = (may: string[]): string =>
    renderToStaticMarkup(
      <ShownAdvice
        cluster={makeCluster({
          metrics: { ...metrics, advice: [ADVICE] },
          may
        })}
        commands={makeCommands()}
        adviceState={new AdviceState()}
        trans={trans}
      />
    );
  expect(shown(['stacks'])).toContain('Try it');
  expect(shown([])).toContain('Dismiss');
  expect(shown([])).not.toContain('Try it');
});

it('offers to show and to keep a change only where a plugin does it', () => {
  const { metrics } = makeCluster();
  const tried = {
    gain: 1.5,
    gain_error: 0.01,
    rate: 100,
    rate_before: 50,
    other_ranks: null
  } as unknown as Tried;
  const advice = { ...ADVICE, tried, diff: '-a\n+b' };
  const shown = (has: (id: string) => boolean): string =>
    renderToStaticMarkup(
      <ShownAdvice
        cluster={makeCluster({
          metrics: { ...metrics, advice: [advice] },
          may: ['stacks']
        })}
        commands={makeCommands(undefined, has)}
        adviceState={new AdviceState()}
        trans={trans}
      />
    );
  expect(shown(() => true)).toMatch(/>Keep<.*>Show the change</);
  expect(shown(id => id !== CommandIDs.keepChange)).not.toContain('>Keep<');
  expect(shown(id => id !== CommandIDs.showChange)).not.toContain('Show the');
});
