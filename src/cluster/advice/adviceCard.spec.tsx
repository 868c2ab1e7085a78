import { nullTranslator } from '@jupyterlab/translation';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { Advice, Metrics } from '../../tokens';
import { adviceOf } from '../../advice/order';
import { AdviceState } from '../model/adviceState';
import { AdviceCard } from './adviceCard';
import { ViewStateContext, ViewState } from '../../ui/viewState';

type Last = NonNullable<Metrics['last']>;
const trans = nullTranslator.load('dtrain_lab');
const { metrics } = makeCluster();
const accumulate: Advice = {
  id: 'accumulate',
  change: 'in English',
  gain: 1.094,
  gain_error: 0.01,
  cost: 'in English, too',
  diff: '',
  values: { every: 4, times: 4, root: '2', batch: 512, code: 'x' },
  tried: null,
  tryable: false
};

const ranks: Advice = {
  ...accumulate,
  id: 'more_ranks',
  gain: 1,
  values: { share: 0.6 }
};

function text(
  advice: Advice | Advice[],
  rate: number | null,
  more: { kept?: boolean; last?: number } = {}
): string {
  const html = renderToStaticMarkup(
    <AdviceCard
      cluster="c1"
      advice={Array.isArray(advice) ? advice : [advice]}
      metrics={{
        ...metrics,
        samples_per_s: rate,
        ...(more.last
          ? { current: false, last: { samples_per_s: more.last } as Last }
          : {})
      }}
      kept={() => more.kept ?? false}
      dismissed={() => false}
      runs={false}
      onShow={() => undefined}
      trying={() => false}
      tried={null}
      onTry={async () => undefined}
      onKeep={() => undefined}
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
  expect(said).toContain('Accumulate 4 batches: about 9 % faster');
  expect(said).toContain('1,286 → 1,407 samples/s.');
  expect(said).toContain(
    'The effective batch becomes 512: multiply the learning rate by 4 (linear scaling) or by 2 (square-root scaling).'
  );
  expect(said).toContain('|Show the change|');
  const values = { ...accumulate.values, cell: '[3]' };
  const diff = '--- cell\n+++ cell\n@@ -1 +1 @@\n-a\n+b';
  expect(text({ ...accumulate, values, diff }, 1286)).toContain(
    '|Show the change in cell [3]|'
  );
  expect(text(accumulate, null)).not.toContain('→');
  expect(text(accumulate, null, { last: 100 })).toContain(
    'Last run: 100 → 109 samples/s.'
  );
});

it('says the error of a gain that is rough', () => {
  const said = text({ ...accumulate, gain: 1.45, gain_error: 0.6 }, null);
  expect(said).toContain('Accumulate 4 batches: may be faster|');
  expect(said).toContain('Steps are too unsteady now to tell by how much.');
  expect(said).not.toContain('→');
  const rough = text({ ...accumulate, gain: 1.45, gain_error: 0.25 }, 100);
  expect(rough).toContain('Accumulate 4 batches: 20 to 70 % faster|');
  expect(rough).toContain('100 → 120 to 170 samples/s.');
  const wide = text({ ...accumulate, gain: 1.57, gain_error: 0.47 }, 100);
  expect(wide).toContain('Accumulate 4 batches: probably faster|');
  expect(wide).toContain('Steps are too unsteady now to tell by how much.');
  expect(wide).not.toMatch(/→|57|104/);
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

it('shows the best first, and how many more there are', () => {
  const said = text([accumulate, ranks], 1286);
  expect(said).toContain('1 more…');
  expect(said).not.toContain('More ranks');
  expect(text(accumulate, null)).not.toContain('more…');
  expect(text([], null)).toBe('');
});

it('promises nothing of what does not help, and shows no change of it', () => {
  const said = text({ ...ranks, values: { share: 0.6 } }, 1286);
  expect(said).toContain('More ranks will not help: training is input-bound|');
  expect(said).toContain('Each rank waits for data 60 % of a step.');
  expect(said).not.toContain('faster:');
  expect(said).not.toContain('→');
  expect(said).not.toContain('Show the change');
});

it('says how many workers, and what gradients weigh', () => {
  const workers = {
    ...accumulate,
    id: 'workers',
    values: { workers: 2, before: 1 }
  };
  expect(text(workers, null)).toContain(
    'Read batches ahead with 2 worker processes per rank instead of 1: about 9 % faster'
  );
  const bf16 = { ...accumulate, id: 'bf16', values: { item: 4 } };
  expect(text(bf16, null)).toContain('takes 2 bytes instead of 4');
});

it('says nothing where nothing is known, or it was dismissed', () => {
  expect(adviceOf(metrics, () => false)).toBeNull();
  const some = { ...metrics, advice: [accumulate] };
  expect(adviceOf(some, () => false)).toBe(accumulate);
  expect(adviceOf(some, id => id === 'accumulate')).toBeNull();
  const two = { ...metrics, advice: [accumulate, ranks] };
  expect(adviceOf(two, id => id === 'accumulate')).toBe(ranks);
});

it('says what was measured when it was tried, and offers to keep it', () => {
  expect(text({ ...accumulate, tryable: true }, 1286)).toContain('|Try it|');
  expect(text(ranks, 1286)).not.toContain('Try it');
  const tried = {
    id: 'accumulate',
    gain: 1.48,
    gain_error: 0.05,
    predicted: 1.6,
    predicted_error: 0.2,
    steps: 20,
    text: '',
    way: '',
    other_ranks: null
  };
  const own = { ...accumulate, diff: '@@', tryable: true };
  const said = text({ ...own, tried }, 1286);
  expect(said).toContain('Accumulate 4 batches: 48 % ± 5 faster when tried');
  expect(said).toContain(
    'Measured over 20 batches. Predicted: about 60 % faster.'
  );
  expect(said).toContain('|Try again|');
  expect(said).toContain('|Keep|');
  expect(text({ ...accumulate, tried }, 1286)).not.toContain('Keep');
  const kept = text({ ...own, tried }, 1286, { kept: true });
  expect(kept).toContain('|Kept. Run the cell again to train with it.|');
  expect(kept).not.toContain('|Keep|');
  expect(kept).not.toContain('|Try again|');
  const rough = { ...tried, gain: 1.45, gain_error: 0.25, way: 'loop' };
  const roughly = text({ ...own, tried: rough }, 1286);
  expect(roughly).toContain('20 to 70 % faster when tried');
  expect(roughly).toContain('Measured over 20 batches with the loop changed. ');
  const times = { ...own, gain: 4.32, gain_error: 1.06, tried: null };
  expect(text(times, 100)).toContain(': about 4.3 times as fast|');
  const much = { ...tried, gain: 3.27, gain_error: 0.4 };
  expect(text({ ...own, tried: much } as never, 100)).toContain(
    ': 3.3 ± 0.4 times as fast when tried|'
  );
  const few = { ...tried, steps: 6, way: 'optimize' };
  expect(text({ ...own, tried: few }, 1286)).toContain(
    'Measured over only 6 batches with dt.optimize. '
  );
  const noisy = { ...own, tried: { ...tried, gain: 1.4, gain_error: 0.6 } };
  expect(text(noisy, 1286)).toContain(
    'Accumulate 4 batches: not clearly faster when tried|'
  );
  const resized = { ...own, tried: { ...tried, other_ranks: 2 } };
  expect(text(resized, 1286)).toContain(
    '48 % ± 5 faster when tried with 2 ranks|'
  );
  const vain = { ...own, tried: { ...tried, gain: 1.02 } };
  expect(text(vain, 1286)).toContain('no faster when tried');
  expect(text(vain, 1286)).not.toContain('Keep');
});

it('shows what was dismissed again, and keeps the keyboard where it was', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const away = new Set<string>();
  const node = document.body.appendChild(document.createElement('div'));
  const root = createRoot(node);
  const draw = async (): Promise<void> =>
    act(async () =>
      root.render(
        <AdviceCard
          cluster="c1"
          advice={[accumulate, ranks]}
          metrics={metrics}
          dismissed={id => away.has(id)}
          kept={() => false}
          runs={false}
          onShow={() => undefined}
          trying={() => false}
          tried={null}
          onTry={async () => undefined}
          onKeep={() => undefined}
          onDismiss={({ id }, dismissed) => {
            if (dismissed) {
              away.add(id);
            } else {
              away.delete(id);
            }
          }}
          trans={trans}
        />
      )
    );
  const press = async (label: string): Promise<void> => {
    const buttons = [...node.querySelectorAll('button')];
    await act(async () => buttons.find(b => b.textContent === label)?.click());
    await draw();
  };
  await draw();
  expect(node.textContent).not.toContain('dismissed');
  await press('Dismiss');
  expect(node.textContent).toContain('More ranks will not help');
  expect(node.textContent).toContain('1 piece of advice dismissedShow');
  const back = document.activeElement;
  expect(back?.getAttribute('aria-label')).toBe('Show dismissed advice');
  await press('Dismiss');
  expect(node.textContent).toBe('2 pieces of advice dismissedShow');
  await press('Show');
  expect(away.size).toBe(0);
  expect(node.textContent).toContain('Accumulate 4 batches');
  expect(document.activeElement).toBe(node.querySelector('aside'));
  act(() => root.unmount());
  vi.unstubAllGlobals();
});

it('tells what is tried of one cluster only, also where it is drawn anew meanwhile', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const node = document.createElement('div');
  const values = new ViewState();
  const state = new AdviceState();
  const show = async (
    root: ReturnType<typeof createRoot>,
    cluster: string
  ): Promise<void> =>
    act(async () =>
      root.render(
        <ViewStateContext.Provider value={values}>
          <AdviceCard
            cluster={cluster}
            advice={[{ ...accumulate, tryable: true }, ranks]}
            metrics={metrics}
            dismissed={() => false}
            kept={() => false}
            runs={false}
            onShow={() => undefined}
            trying={id => state.isTrying(cluster, id)}
            tried={null}
            onTry={async ({ id }) => state.setTrying(cluster, id, true)}
            onKeep={() => undefined}
            onDismiss={() => undefined}
            trans={trans}
          />
        </ViewStateContext.Provider>
      )
    );
  const press = async (label: string): Promise<void> => {
    const buttons = [...node.querySelectorAll('button')];
    await act(async () => buttons.find(b => b.textContent === label)?.click());
  };
  let root = createRoot(node);
  await show(root, 'a');
  await press('Try it');
  await show(root, 'a');
  await press('1 more…');
  expect(node.textContent).toContain('Trying…');
  expect(node.textContent).toContain('Show less');
  await show(root, 'b');
  expect(node.textContent).toContain('Try it');
  expect(node.textContent).toContain('1 more…');
  await show(root, 'a');
  // as if the sidebar were hidden and shown
  act(() => root.unmount());
  root = createRoot(node);
  await show(root, 'a');
  expect(node.textContent).toContain('Trying…');
  state.setTrying('a', 'accumulate', false);
  await show(root, 'a');
  expect(node.textContent).toContain('Try it');
  act(() => root.unmount());
  vi.unstubAllGlobals();
});
