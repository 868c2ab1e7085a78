import { nullTranslator } from '@jupyterlab/translation';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { Advice } from '../../tokens';
import { AdviceCard } from './adviceCard';

const trans = nullTranslator.load('dtrain_lab');
const { metrics } = makeCluster();
const accumulate = {
  id: 'accumulate',
  change: 'in English',
  gain: 1.32,
  gain_error: 0.1,
  cost: '',
  diff: '',
  values: { every: 4, times: 4, root: '2', batch: 512, code: 'x' }
};

it('leaves what was tried in vain in its place while it is in view', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const node = document.createElement('div');
  const vain = {
    ...accumulate,
    tryable: true,
    tried: {
      id: 'accumulate',
      gain: 0.85,
      gain_error: 0.27,
      predicted: 1.32,
      predicted_error: 0.8,
      steps: 16,
      other_ranks: null
    }
  };
  const other = { ...accumulate, id: 'bf16', values: { item: 4 } };
  const show = async (
    root: ReturnType<typeof createRoot>,
    first: object
  ): Promise<void> =>
    act(async () =>
      root.render(
        <AdviceCard
          cluster="c1"
          advice={[first, other] as unknown as Advice[]}
          metrics={metrics}
          dismissed={() => false}
          kept={() => false}
          runs={false}
          onShow={() => undefined}
          onTry={async () => undefined}
          onKeep={() => undefined}
          onDismiss={() => undefined}
          trans={trans}
        />
      )
    );
  const top = (): string => node.querySelector('b')?.textContent ?? '';
  let root = createRoot(node);
  await show(root, { ...accumulate, tryable: true });
  expect(top()).toContain('Accumulate');
  await show(root, vain);
  expect(top()).toContain('no faster when tried');
  act(() => root.unmount());
  root = createRoot(node);
  await show(root, vain);
  expect(top()).toContain('bf16');
  act(() => root.unmount());
  vi.unstubAllGlobals();
});
