import { nullTranslator } from '@jupyterlab/translation';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { makeCommands } from '../../testing/commands';
import { Advice } from '../../tokens';
import { AdviceState } from '../model/adviceState';
import { AdviceCard } from './adviceCard';
import { ShownAdvice } from './shownAdvice';

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
          trying={() => false}
          tried={null}
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

it('shows the result of a trial where the user clicked, until it is dismissed or the next diagnosis', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const node = document.createElement('div');
  const root = createRoot(node);
  const state = new AdviceState();
  const item = { ...accumulate, tryable: true, tried: null };
  const other = { ...item, id: 'bf16', values: { item: 4 } };
  const vain = {
    ...item,
    tried: { ...item, gain: 1.05, gain_error: 0.3, predicted: 1.32, steps: 16 }
  };
  const draw = async (code: string, advice: object[]): Promise<void> => {
    const cluster = makeCluster({
      metrics: { ...metrics, advice: advice as Advice[] },
      may: ['stacks']
    });
    cluster.summary.code = code;
    await act(async () =>
      root.render(
        <ShownAdvice
          cluster={cluster}
          commands={makeCommands()}
          adviceState={state}
          trans={trans}
        />
      )
    );
  };
  const top = (): string => node.querySelector('b')?.textContent ?? '';
  const press = (label: string): Promise<void> =>
    act(async () =>
      [...node.querySelectorAll('button')]
        .find(b => b.textContent === label)
        ?.click()
    );
  await draw('ready', [item, other]);
  await press('Try it');
  // the card is gone meanwhile, and the head has another order then
  await draw('trying', [item, other]);
  expect(node.textContent).toBe('');
  await draw('ready', [other, vain]);
  expect(top()).toContain('Accumulate 4 batches: not clearly faster');
  await draw('diagnosing', [other, vain]);
  await draw('ready', [other, vain]);
  expect(top()).toContain('bf16');
  state.setTried('c1', { advice: 'accumulate', at: 0 });
  state.dismiss('c1', 'accumulate');
  state.dismiss('c1', 'accumulate', false);
  await draw('ready', [other, vain]);
  expect(top()).toContain('bf16');
  act(() => root.unmount());
  vi.unstubAllGlobals();
});
