import { expect, it } from 'vitest';

import { followedIn, IFilled, sizedAs } from './initialForm';
import { INotebook } from './notebook';
import { emptyForm, wantedOf } from '../model/formRequest';

it('sends what the form shows after the notebook has changed', () => {
  const before = 'lr = 0.1\nepochs = 3';
  const notebook = { parameters: 'lr = 0.2\nepochs = 3' } as INotebook;
  const filled: IFilled = {
    form: { ...emptyForm(undefined, 'lr = 0.1\nepochs = 9') },
    defaults: before
  };
  const now = followedIn(filled, notebook);
  expect(now.form.parameters).toBe('lr = 0.2\nepochs = 9');
  expect(wantedOf(now.form, 'a.ipynb', now.defaults).parameters).toEqual({
    epochs: 9
  });
  expect(followedIn(now, notebook)).toBe(now);
});

it('has the size of the job that it duplicates before the first check', () => {
  const form = { ...emptyForm(undefined, ''), nodes: '', ranksPerNode: '16' };
  const job = { size: { nodes: 2, ranks_per_node: 8 } };
  const sized = sizedAs(form, { nodes: null }, job);
  expect([sized.nodes, sized.ranksPerNode]).toEqual(['2', '8']);
  // as it was asked for
  const asked = { ...form, nodes: '4' };
  expect(sizedAs(asked, { nodes: 4 }, job)).toEqual(asked);
  expect(sizedAs(form, { nodes: null }, undefined)).toEqual(form);
});
