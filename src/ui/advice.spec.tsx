import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeCluster } from '../testing/clusters';
import { AdviceCard, adviceOf } from './advice';

const trans = nullTranslator.load('dtrain_lab');
const { metrics } = makeCluster();
const accumulate = {
  id: 'accumulate',
  change: 'in English',
  gain: 1.094,
  gain_error: 0.01,
  cost: 'in English, too',
  diff: '',
  values: { batch: 512 }
};

function text(advice: typeof accumulate, rate: number | null): string {
  const html = renderToStaticMarkup(
    <AdviceCard
      advice={advice}
      metrics={{ ...metrics, samples_per_s: rate }}
      onShow={() => undefined}
      onDismiss={() => undefined}
      trans={trans}
    />
  );
  return html
    .replace(/<svg.*?<\/svg>/g, '')
    .replace(/<[^>]+>/g, '|')
    .replace(/\u00a0/g, ' ');
}

it('says what to change, what it gains and what it costs', () => {
  const said = text(accumulate, 1286);
  expect(said).toContain('Accumulate 2 batches: about 9 % faster');
  expect(said).toContain('1,286 → 1,407 samples/s.');
  expect(said).toContain('The batch becomes 512.');
  expect(said).toContain('Show the change');
  expect(text(accumulate, null)).not.toContain('→');
});

it('takes the words of the head where it is newer', () => {
  const bucket = {
    ...accumulate,
    id: 'bucket',
    change: 'Send smaller buckets',
    cost: 'Nothing.'
  };
  const said = text(bucket, null);
  expect(said).toContain('Send smaller buckets: about 9 % faster');
  expect(said).toContain('Nothing.');
});

it('says nothing where nothing is known, or it was dismissed', () => {
  expect(adviceOf(metrics, () => false)).toBeNull();
  const some = { ...metrics, advice: [accumulate] };
  expect(adviceOf(some, () => false)).toBe(accumulate);
  expect(adviceOf(some, id => id === 'accumulate')).toBeNull();
});
