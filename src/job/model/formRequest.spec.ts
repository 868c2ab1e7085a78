import { expect, it } from 'vitest';

import { emptyForm, formOf, wantedOf } from './formRequest';

const request = {
  ...wantedOf(emptyForm(undefined, ''), 'a.ipynb'),
  ranks: null
} as unknown as Parameters<typeof formOf>[0];

it('leaves open what is left open', () => {
  const wanted = wantedOf(emptyForm(undefined, ''), 'a.ipynb');
  expect(wanted).toMatchObject({
    notebook: 'a.ipynb',
    nodes: 1,
    ranks_per_node: null,
    name: null,
    time: null
  });
});

it('sends what is put in the place of the profile', () => {
  const form = {
    ...emptyForm(undefined, ''),
    partition: 'gpu',
    environment: 'conda:/opt/torch',
    options: '--exclusive\n\n --reservation=r '
  };
  expect(wantedOf(form, 'a.ipynb')).toMatchObject({
    partition: 'gpu',
    environment: 'conda:/opt/torch',
    interface: null,
    options: ['--exclusive', '--reservation=r']
  });
});

it('leaves a parameter that was not changed to the notebook, and takes those of an earlier job', () => {
  const defaults = 'lr = 0.1\nepochs = 3';
  const form = {
    ...emptyForm(undefined, ''),
    parameters: 'lr = 0.1\nepochs = 9'
  };
  const sent = wantedOf(form, 'a.ipynb', defaults);
  expect(sent.parameters).toEqual({ epochs: 9 });
  const again = formOf(
    { ...request, parameters: { epochs: 9, more: 'x' } },
    defaults
  );
  expect(again.parameters).toBe('lr = 0.1\nepochs = 9\nmore = "x"');
});
