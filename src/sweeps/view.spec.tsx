import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { ISweeps, Sweep } from '../tokens';
import { ViewState, ViewStateContext } from '../ui/viewState';
import { SweepBody } from './view';

/** The primary button, and all others, of a failed sweep. */
function buttons(code: string): [string[], string[]] {
  const sweep = {
    id: 's1',
    name: 'never',
    notebook: 'never.ipynb',
    notebook_path: 'never.ipynb',
    profile: 'local',
    size: { nodes: 1, ranks_per_node: 1 },
    state: 'failed',
    reason: { code, message: '', hint: '' },
    summary: { code: '', values: { done: 0, total: 4, failed: 1 }, text: '' },
    objective: 'loss',
    direction: 'minimize',
    sampler: 'tpe',
    space: {},
    parameters: {},
    trials: [],
    best: null,
    importance: null,
    may: ['resume', 'delete'],
    created_at: 1,
    ended_at: 2,
    ran_s: 1
  } as unknown as Sweep;
  const state = new ViewState();
  state.set('sweep', sweep);
  const node = document.createElement('div');
  node.innerHTML = renderToStaticMarkup(
    <ViewStateContext.Provider value={state}>
      <SweepBody
        id="s1"
        sweeps={{} as unknown as ISweeps}
        commands={new CommandRegistry()}
        trans={nullTranslator.load('x')}
        openNotebook={() => undefined}
      />
    </ViewStateContext.Provider>
  );
  const labels = (selector: string): string[] =>
    [...node.querySelectorAll(`.jp-DtrainSweep-actions ${selector}`)].map(
      button => button.textContent ?? ''
    );
  return [labels('.jp-mod-primary'), labels('button:not(.jp-mod-primary)')];
}

it('does not offer first to resume what can only fail again', () => {
  expect(buttons('no_objective')).toEqual([
    ['Open notebook'],
    ['Resume', 'Delete…']
  ]);
  expect(buttons('no_success')).toEqual([
    ['Resume'],
    ['Open notebook', 'Delete…']
  ]);
});
