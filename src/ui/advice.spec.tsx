import { nullTranslator } from '@jupyterlab/translation';
import { renderToStaticMarkup } from 'react-dom/server';
import React from 'react';
import { expect, it } from 'vitest';

import { makeCluster } from '../testing/clusters';
import { AdviceLine } from './advice';

const trans = nullTranslator.load('dtrain_lab');
const { metrics } = makeCluster();

it('says what to change, what it gains and what it costs', () => {
  const advice = {
    id: 'accumulate',
    change: 'Accumulate twice as many batches',
    gain: 0.094,
    gain_error: 0.01,
    cost: 'The batch becomes 512.',
    diff: ''
  };
  const html = renderToStaticMarkup(
    <AdviceLine metrics={{ ...metrics, advice: [advice] }} trans={trans} />
  );
  expect(html).toContain(
    'Accumulate twice as many batches: about 9 % faster. The batch becomes 512.'
  );
});

it('says nothing where nothing is known', () => {
  expect(
    renderToStaticMarkup(<AdviceLine metrics={metrics} trans={trans} />)
  ).toBe('');
});
