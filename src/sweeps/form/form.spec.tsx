// alone: fake timers
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { Simulate } from 'react-dom/test-utils';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../../commands';
import { draftsIn, typedIn } from '../../job/form/drafts';
import { INotebook } from '../../job/form/notebook';
import { IJobs, ISite, ISweeps, Profile, SweepPlan } from '../../tokens';
import { ISweepForm } from '../model/formRequest';
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
            onIdle: () => () => undefined,
            unsaved: false,
            onUnsaved: () => () => undefined
          } as unknown as INotebook
        }
        drafts={draftsIn(null, 'sweep')}
        spaces={draftsIn<ISweepForm>(null, 'sweep-space')}
        highlight={async () => undefined}
        confirmDiscard={async () => true}
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

it('previews a trial, and keeps the whole form for later until its sweep begins', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.useFakeTimers();
  const [drafts, spaces] = [
    draftsIn(null, 'sweep'),
    draftsIn<ISweepForm>(null, 'sweep-space')
  ];
  const plan = {
    id: 'p',
    files: [
      { path: 'code/dtrain_main.py', bytes: 9, text: 'lr = 0.1' },
      { path: 'job.sh', bytes: 9, text: 'srun' }
    ],
    findings: [],
    submit: 'dtrain-lab submit a.ipynb',
    changes: '-lr',
    size: { nodes: 1, ranks_per_node: 1 },
    total: 2,
    parallel: 1
  } as unknown as SweepPlan;
  const begun = vi.fn();
  const commands = new CommandRegistry();
  commands.addCommand(CommandIDs.openSweep, { execute: () => null });
  const node = document.body.appendChild(document.createElement('div'));
  const open = async (): Promise<() => void> => {
    const root = createRoot(node);
    await act(async () =>
      root.render(
        <SweepForm
          notebook={
            {
              path: 'a.ipynb',
              parameters: 'lr = 0.1',
              sources: ['dt.log(step, loss=1.0)'],
              names: async () => null,
              save: async () => false,
              onSaved: () => () => undefined,
              onIdle: () => () => undefined,
              unsaved: false,
              onUnsaved: () => () => undefined
            } as unknown as INotebook
          }
          drafts={drafts}
          spaces={spaces}
          typed={typedIn(null, 'a')}
          highlight={async (code, _, into) => into.append(code)}
          confirmDiscard={async () => true}
          site={{ profiles: [profile('local', 4)] } as unknown as ISite}
          jobs={{ all: async () => [] } as unknown as IJobs}
          sweeps={
            {
              plan: async () => plan,
              begin: async () => ({ id: 's', name: 'a' })
            } as unknown as ISweeps
          }
          commands={commands}
          trans={nullTranslator.load('dtrain_lab')}
          begun={begun}
        />
      )
    );
    await act(async () => void (await vi.advanceTimersByTimeAsync(1000)));
    return () => act(() => root.unmount());
  };
  const field = (selector: string): HTMLInputElement =>
    node.querySelector<HTMLInputElement>(selector)!;
  const fill = (selector: string, value: string): void =>
    act(() => {
      const found = field(selector);
      found.value = value;
      Simulate.change(found);
    });
  const press = (label: string): Promise<void> =>
    act(async () => {
      [...node.querySelectorAll('button')]
        .find(button => button.textContent === label)!
        .click();
      await vi.advanceTimersByTimeAsync(1000);
    });
  const tabs = (): (string | null)[] =>
    [...node.querySelectorAll('[role=tab]')].map(tab => tab.textContent);

  let close = await open();
  fill('[data-sweep=vary]', 'list');
  fill('[data-sweep=lr]', '0.1, 0.2');
  fill('[data-field=ranksPerNode]', '2');
  await act(async () => void (await vi.advanceTimersByTimeAsync(1000)));
  // a trial is no job that somebody submits, and is not compared with the last job
  expect(tabs()).toEqual(['Script', 'Job file', 'Files']);
  expect(node.querySelector('[role=tabpanel]')?.textContent).toContain(
    'lr = 0.1'
  );
  expect(node.textContent).toContain('One trial: with the first value');
  await press('Save for later');
  expect(node.textContent).toContain('Saved');
  close();

  close = await open();
  expect(node.textContent).toContain('what you saved for later');
  expect(field('[data-sweep=lr]').value).toBe('0.1, 0.2');
  expect(field('[data-field=ranksPerNode]').value).toBe('2');
  await press('Discard');
  expect(node.textContent).not.toContain('what you saved for later');
  expect(field('[data-sweep=vary]').value).toBe('fixed');
  expect(await spaces.load('a.ipynb', null)).toBeNull();

  fill('[data-sweep=vary]', 'list');
  fill('[data-sweep=lr]', '0.1, 0.2');
  await press('Save for later');
  await press('Start sweep');
  expect(begun).toHaveBeenCalled();
  expect(await drafts.load('a.ipynb', null)).toBeNull();
  expect(await spaces.load('a.ipynb', null)).toBeNull();
  close();
  vi.useRealTimers();
  node.remove();
});
