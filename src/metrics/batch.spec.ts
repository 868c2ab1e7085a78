import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makeCluster } from '../testing/clusters';
import { Metrics } from '../tokens';
import { batchFact, batchText, weakScaling, weakScalingShort } from './batch';

const trans = nullTranslator.load('dtrain_lab');

function cluster(more: object) {
  return makeCluster({
    metrics: { ...makeCluster().metrics, ...more } as Metrics
  });
}

const trains = cluster({
  rank_batch: 32,
  global_batch: 64,
  epoch: { number: 1, done: 2, total: 101, split: true }
});

it('says both batches on a line of their own that does not break', () => {
  expect(batchText(trains, trans)).toBe(
    'batch\u00a032\u00a0×\u00a02\u00a0ranks\u00a0=\u00a064'
  );
  const uneven = cluster({ global_batch: 60 });
  expect(batchText(uneven, trans)).toBe(
    'batch\u00a060\u00a0on\u00a02\u00a0ranks'
  );
  expect(weakScaling(uneven, trans)).toBeNull();
  expect(batchText(cluster({}), trans)).toBeNull();
  const ended = cluster({
    current: false,
    last: { samples_per_s: 5, rank_batch: 8, global_batch: 16 }
  });
  expect(batchText(ended, trans)).toContain('=\u00a016');
});

it('counts the ranks that trained, also after a change of size', () => {
  const resized = {
    ...cluster({
      current: false,
      last: { samples_per_s: 5, rank_batch: 32, global_batch: 96 }
    }),
    world: { ...makeCluster().world, size: 2 }
  };
  expect(batchFact(resized, trans)).toBe('32 × 3 ranks = 96');
  expect(batchText(resized, trans)!.replace(/\u00a0/g, ' ')).toBe(
    'Last: batch 32 × 3 ranks = 96'
  );
  expect(weakScalingShort(resized, trans)).toBeNull();
});

it('says the effective batch where gradients are accumulated', () => {
  const four = cluster({ rank_batch: 8, global_batch: 16, accumulated: 4 });
  expect(batchFact(four, trans)).toBe('8 × 2 ranks × 4 accumulated = 64');
  expect(batchText(four, trans)).toBe(
    'batch 8 ×\u00a02 ranks ×\u00a04 accumulated =\u00a064'
  );
  const uneven = cluster({ global_batch: 15, accumulated: 4 });
  expect(batchFact(uneven, trans)).toBe('15 on 2 ranks × 4 accumulated = 60');
  const last = { global_batch: 16, rank_batch: 8, accumulated: 2 };
  expect(batchFact(cluster({ current: false, last }), trans)).toContain('= 32');
  const eight = cluster({
    rank_batch: 8,
    global_batch: 16,
    accumulated: 8,
    epoch: { number: 1, done: 2, total: 100, split: true }
  });
  expect(weakScalingShort(eight, trans)?.text).toBe(
    'With 4 ranks and still 64 samples on each, a step would train on 256 samples, and an epoch would take 7 steps instead of 13.'
  );
  expect(weakScaling(eight, trans)).toContain('take 7 steps instead of 13');
});

it('says both batches beside their name', () => {
  expect(batchFact(trains, trans)).toBe('32 × 2 ranks = 64');
  expect(batchFact(cluster({ global_batch: 60 }), trans)).toBe('60 on 2 ranks');
  expect(batchFact(cluster({}), trans)).toBeNull();
});

it('says what more ranks do in a few words', () => {
  expect(weakScalingShort(trains, trans)?.text).toBe(
    'With 4 ranks and still 32 samples on each, a step would train on 128 samples, and an epoch would take 51 steps instead of 101.'
  );
  const last = {
    samples_per_s: 5,
    rank_batch: 32,
    global_batch: 64,
    epoch: trains.metrics.epoch
  };
  expect(weakScalingShort(cluster({ current: false, last }), trans)?.text).toBe(
    'With 4 ranks and still 32 samples on each, a step would train on 128 samples, and an epoch would take 51 steps instead of 101.'
  );
  expect(weakScalingShort(cluster({ global_batch: 60 }), trans)).toBeNull();
});

it('says nothing of more ranks where every rank reads all of the data, or nobody knows', () => {
  const whole = { number: 1, done: 2, total: 50, split: false };
  const batch = { rank_batch: 8, global_batch: 16 };
  for (const epoch of [whole, null]) {
    const found = cluster({ ...batch, epoch });
    expect(batchFact(found, trans)).toBe('8 × 2 ranks = 16');
    expect(weakScalingShort(found, trans)).toBeNull();
    expect(weakScaling(found, trans)).toBeNull();
  }
});

it('says nothing of more ranks where other ranks were measured', () => {
  for (const size of [1, 3]) {
    const now = { ...trains, world: { ...trains.world, size } };
    expect(batchFact(now, trans)).toBe('32 × 2 ranks = 64');
    expect(weakScalingShort(now, trans)).toBeNull();
  }
});

it('says what more ranks do to batch and epoch', () => {
  expect(weakScaling(trains, trans)).toBe(
    'With 4 ranks and still 32 samples on each (weak scaling), a step would train on 128 samples instead of 64, and an epoch would take 51 steps instead of 101 if each rank reads its own part of the data.'
  );
});
