import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { Simulate } from 'react-dom/test-utils';
import { expect, it, vi } from 'vitest';

import { draftsIn, typedIn } from '../../job/form/drafts';
import { INotebook } from '../../job/form/notebook';
import { IJobs, ISite, ISweeps, Profile } from '../../tokens';
import { SweepForm } from './form';

const profile = (name: string, ranks_per_node: number): Profile =>
  ({
    name,
    profile: { nodes: 1, ranks_per_node, slurm: { time: null } }
  }) as unknown as Profile;

it('opens for whole floats; another profile leaves the size that was typed', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const typed = typedIn(null, 'a');
  const node = document.body.appendChild(document.createElement('div'));
  const root = createRoot(node);
  await act(async () =>
    root.render(
      <SweepForm
        notebook={
          {
            path: 'a.ipynb',
            parameters: 'decay = 0.0\nscale = 1.0',
            sources: [],
            names: async () => null,
            onSaved: () => () => undefined,
            onIdle: () => () => undefined
          } as unknown as INotebook
        }
        drafts={draftsIn(null)}
        typed={typed}
        site={
          {
            profiles: [profile('local', 4), profile('large', 8)]
          } as unknown as ISite
        }
        jobs={{ all: async () => [] } as unknown as IJobs}
        sweeps={
          { plan: () => new Promise(() => undefined) } as unknown as ISweeps
        }
        commands={new CommandRegistry()}
        trans={nullTranslator.load('dtrain_lab')}
        begun={() => undefined}
      />
    )
  );
  const field = (name: string): HTMLInputElement =>
    node.querySelector<HTMLInputElement>(`[data-field=${name}]`)!;
  const fill = (name: string, value: string): void =>
    act(() => {
      const found = field(name);
      found.value = value;
      Simulate.change(found);
    });
  expect(node.textContent).toContain('scale');
  fill('profile', 'large');
  // nobody typed one: the server says how large a trial is
  expect([field('nodes').value, field('ranksPerNode').value]).toEqual(['', '']);
  fill('ranksPerNode', '2');
  fill('profile', 'local');
  expect(field('profile').value).toBe('local');
  expect(field('ranksPerNode').value).toBe('2');
  // a reloaded page has what was typed, whatever the notebook's last job was
  expect(await typed.load('form')).toMatchObject({
    form: { profile: 'local', ranksPerNode: '2' }
  });
  act(() => root.unmount());
  node.remove();
});
