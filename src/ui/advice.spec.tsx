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
    change: 'in English',
    gain: 0.094,
    gain_error: 0.01,
    cost: 'in English, too',
    diff: '',
    values: { batch: 512 }
  };
  const html = renderToStaticMarkup(
    <AdviceLine metrics={{ ...metrics, advice: [advice] }} trans={trans} />
  );
  expect(html).toContain(
    'Accumulate twice as many batches before gradients are averaged ' +
      '(model.no_sync()): about 9 % faster. The batch becomes 512.'
  );
});

it('takes the words of the head where it is newer', () => {
  const advice = {
    id: 'bucket',
    change: 'Send smaller buckets',
    gain: 0.05,
    gain_error: 0.01,
    cost: 'Nothing.',
    diff: '',
    values: {}
  };
  const html = renderToStaticMarkup(
    <AdviceLine metrics={{ ...metrics, advice: [advice] }} trans={trans} />
  );
  expect(html).toContain('Send smaller buckets: about 5 % faster. Nothing.');
});

it('says nothing where nothing is known', () => {
  expect(
    renderToStaticMarkup(<AdviceLine metrics={metrics} trans={trans} />)
  ).toBe('');
});
