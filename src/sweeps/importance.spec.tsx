// alone: draws a whole view, which polls
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it, vi } from 'vitest';

import { ISweeps, Sweep } from '../tokens';
import { ViewState, ViewStateContext } from '../ui/viewState';
import { Importance } from './charts/importance';
import { SweepBody } from './view';

const listed = {
  id: 's1',
  name: 'tune',
  notebook: 'tune.ipynb',
  notebook_path: 'tune.ipynb',
  profile: 'local',
  size: { nodes: 1, ranks_per_node: 1 },
  state: 'running',
  reason: null,
  summary: { code: '', values: { done: 0, total: 4, failed: 0 }, text: '' },
  objective: 'loss',
  direction: 'minimize',
  sampler: 'tpe',
  space: {},
  parameters: {},
  trials: [],
  best: null,
  importance: null,
  may: [],
  created_at: 1,
  ended_at: null,
  ran_s: 1
} as unknown as Sweep;

it('keeps the importance when a list, which has none, tells of the sweep', () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const missing = { code: 'one_parameter', values: {}, text: '' };
  const whole = { ...listed, importance: { shares: {}, missing } };
  const seen = new Signal<ISweeps, readonly Sweep[]>({} as ISweeps);
  const node = document.createElement('div');
  const root = createRoot(node);
  const why = 'Only one parameter varies, so there is nothing to compare.';
  const state = new ViewState();
  state.set('sweep', whole);
  act(() =>
    root.render(
      <ViewStateContext.Provider value={state}>
        <SweepBody
          id="s1"
          sweeps={
            { get: async () => whole as Sweep, seen } as unknown as ISweeps
          }
          commands={new CommandRegistry()}
          trans={nullTranslator.load('')}
          openNotebook={() => undefined}
        />
      </ViewStateContext.Provider>
    )
  );
  expect(node.textContent).toContain(why);
  act(() => seen.emit([{ ...listed, ran_s: 2 }]));
  expect(node.textContent).toContain(why);
  act(() => root.unmount());
});

it('does not ask for more trials of a sweep that has ended', () => {
  const values = { done: 3, least: 10 };
  const missing = { code: 'few_trials', values, text: '' };
  const said = (ended_at: number | null): string => {
    const importance = { shares: {}, missing };
    return renderToStaticMarkup(
      <Importance
        sweep={{ ...listed, importance, ended_at }}
        trans={nullTranslator.load('dtrain_lab')}
      />
    );
  };
  expect(said(null)).toContain('trials that are done; 3 are done.');
  expect(said(9)).toContain(
    'trials that are done; the sweep has ended with 3.'
  );
});
