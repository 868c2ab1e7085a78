import { expect, it } from 'vitest';

import { JobMetrics } from '../../tokens';
import { withLatest } from './latestValues';

const logged = [
  { at: 1, step: 10, values: { loss: 0.5, accuracy: 0.8 } },
  { at: 2, step: 11, values: { loss: 0.4 } }
];
const metrics = { history: [], logged } as unknown as JobMetrics;

/** The last value of each name in the history that the charts get. */
function headings(shown: JobMetrics | null): Record<string, unknown> {
  return Object.assign({}, ...(shown?.logged ?? []).map(call => call.values));
}

it('has in the charts what a frame has brought since the history was read', () => {
  const live = { step: 14, loss: 0.2, accuracy: 0.8 };
  const { values, shown } = withLatest(live, metrics, 5000);
  expect(values).toEqual({ step: 14, loss: 0.2, accuracy: 0.8 });
  expect(headings(shown)).toEqual({ loss: 0.2, accuracy: 0.8 });
  // the accuracy was not logged again, as far as anyone knows
  expect(shown?.logged[2]).toEqual({ at: 5, step: 14, values: { loss: 0.2 } });
  expect(metrics.logged).toHaveLength(2);
});

it('has in the facts what the history has, where it was read after the frame', () => {
  const live = { step: 10, loss: 0.5, accuracy: 0.8 };
  const { values, shown } = withLatest(live, metrics, 5000);
  expect(values).toEqual({ step: 11, loss: 0.4, accuracy: 0.8 });
  expect(shown).toBe(metrics);
});

it('leaves everything as it is without a history', () => {
  const live = { step: 10, loss: 0.5 };
  expect(withLatest(live, null, 5000)).toEqual({ values: live, shown: null });
});
