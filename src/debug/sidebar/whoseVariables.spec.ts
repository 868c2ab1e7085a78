import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { WhoseVariables } from './whoseVariables';

type Args = ConstructorParameters<typeof WhoseVariables>[0];

/** The line above the variables, with two paused ranks. */
function line() {
  const changed = new Signal<object, void>({});
  const ranks = [0, 1].map(rank => ({ rank, phase: 'paused' }));
  const model = {
    changed,
    asked: null as number | null,
    view: { on: true, focus: 0, ranks }
  };
  const variables = {
    changed: new Signal<object, void>({}),
    scopes: [{ name: 'Locals' }] as object[]
  };
  const widget = new WhoseVariables({
    model,
    clusters: {
      changed: new Signal<object, void>({}),
      clusters: [],
      jobs: [],
      ignored: () => null
    },
    debug: { model: { variables } },
    trans: nullTranslator.load('dtrain_lab')
  } as unknown as Args);
  return { model, variables, said: () => widget.node.textContent };
}

it('says that the variables of another rank are loaded, until they are there', () => {
  const { model, variables, said } = line();
  expect(said()).toBe('Of rank 0:');
  model.asked = 1;
  model.changed.emit();
  expect(said()).toBe('Loading the variables of rank 1…');
  variables.changed.emit(); // those of rank 0, which came late
  expect(said()).toBe('Loading the variables of rank 1…');
  model.view = { ...model.view, focus: 1 };
  model.changed.emit();
  model.asked = null;
  model.changed.emit();
  variables.scopes = [];
  variables.changed.emit(); // JupyterLab has cleared them
  expect(said()).toBe('Loading the variables of rank 1…');
  variables.scopes = [{ name: 'Locals' }];
  variables.changed.emit();
  expect(said()).toBe('Of rank 1:');
});

it('loads none once the rank runs on', () => {
  const { model, variables, said } = line();
  model.view = { ...model.view, focus: 1 };
  model.changed.emit();
  expect(said()).toBe('Loading the variables of rank 1…');
  const ranks = [0, 1].map(rank => ({ rank, phase: 'running' }));
  model.view = { ...model.view, ranks };
  model.changed.emit();
  expect(said()).toBe('Of the kernel, as rank 1 runs:');
  variables.scopes = []; // the cell has ended
  variables.changed.emit();
  expect(said()).toBe('');
});
