// alone: fake timers
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { Simulate } from 'react-dom/test-utils';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../../commands';
import { IJobs, ISite, JobPlan, JobRequest } from '../../tokens';
import { emptyForm, formOf } from '../model/formRequest';
import { RequestError } from '../../request/rest';
import { draftsIn, typedIn } from './drafts';
import { SubmitForm } from './form';
import { INotebook } from './notebook';

const PATH = 'a.ipynb';
const REQUEST = {
  name: 'long2',
  profile: 'local',
  nodes: 1,
  ranks_per_node: 1,
  retries: 0,
  warn_s: 60,
  files: true,
  parameters: { lr: 0.3 },
  options: [],
  stage: []
} as unknown as JobRequest;
const plan = {
  id: 'p',
  findings: [],
  files: [],
  cells: 0,
  modules: null,
  size: { nodes: 1, ranks_per_node: 1 }
} as unknown as JobPlan;

it("keeps a copy of a job beside the draft of the notebook's own form", async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.useFakeTimers();
  const own = emptyForm(undefined, 'lr = 0.7');
  const drafts = draftsIn(null);
  let typed = typedIn(null, 'a');
  await drafts.save(PATH, null, own);
  const commands = new CommandRegistry();
  commands.addCommand(CommandIDs.openJob, { execute: () => undefined });
  const submitted = vi.fn();
  const node = document.body.appendChild(document.createElement('div'));
  const open = async (like: string | null): Promise<() => void> => {
    const root = createRoot(node);
    await act(async () =>
      root.render(
        <SubmitForm
          notebook={
            {
              path: PATH,
              parameters: 'lr = 0.1',
              save: async () => false,
              names: async () => null,
              onSaved: () => () => undefined,
              onIdle: () => () => undefined,
              unsaved: false,
              onUnsaved: () => () => undefined
            } as unknown as INotebook
          }
          drafts={drafts}
          typed={typed}
          highlight={async () => undefined}
          like={like}
          site={{ profiles: [] } as unknown as ISite}
          jobs={
            {
              all: async () => [],
              requestOf: async () => REQUEST,
              plan: async () => plan,
              submit: async () => ({ id: 'j2', name: 'a' })
            } as unknown as IJobs
          }
          commands={commands}
          trans={nullTranslator.load('dtrain_lab')}
          confirmLarge={async () => true}
          confirmDiscard={async () => true}
          submitted={submitted}
        />
      )
    );
    await act(async () => void vi.advanceTimersByTime(1000));
    return () => act(() => root.unmount());
  };
  const press = (label: string): Promise<void> =>
    act(async () =>
      [...node.querySelectorAll('button')]
        .find(button => button.textContent === label)!
        .click()
    );
  const rate = (): string =>
    node.querySelector<HTMLInputElement>('[data-field=parameters]')!.value;

  let close = await open('j1');
  expect(rate()).toBe('0.3');
  await press('Save for later');
  expect(await drafts.load(PATH, null)).toEqual(own);
  expect(await drafts.load(PATH, 'j1')).toEqual({
    ...formOf(REQUEST, 'lr = 0.1'),
    name: 'long2'
  });
  expect(await drafts.load(PATH, 'j2')).toBeNull();
  close();
  close = await open('j1');
  expect(node.textContent).toContain('what you saved for later');
  await press('Submit');
  expect(submitted).toHaveBeenCalled();
  expect(await drafts.load(PATH, 'j1')).toBeNull();
  close();
  close = await open(null);
  expect(rate()).toBe('0.7');
  await act(async () => {
    const field = node.querySelector<HTMLInputElement>(
      '[data-field=parameters]'
    )!;
    field.value = '0.9';
    Simulate.change(field);
  });
  close();
  // the page is reloaded
  close = await open(null);
  expect(rate()).toBe('0.9');
  expect(node.textContent).toContain('Filled in as you left it.');
  close();
  typed = typedIn(null, 'a');
  close = await open(null);
  expect(rate()).toBe('0.7');
  await press('Submit');
  expect(await drafts.load(PATH, null)).toBeNull();
  close();
  // what was saved can be discarded, also for a page that is reloaded
  await drafts.save(PATH, null, own);
  typed = typedIn(null, 'a');
  close = await open(null);
  expect(rate()).toBe('0.7');
  await press('Discard');
  expect(rate()).toBe('0.1');
  expect(node.textContent).not.toContain('what you saved for later');
  expect(node.textContent).not.toContain('Discard');
  expect(document.activeElement?.matches('[data-field]')).toBe(true);
  expect(await drafts.load(PATH, null)).toBeNull();
  close();
  close = await open(null);
  expect(rate()).toBe('0.1');
  close();
  node.remove();
  vi.useRealTimers();
});

it('tells its own errors together with those that the server finds', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.useFakeTimers();
  const drafts = draftsIn(null);
  const form = { ...emptyForm(undefined, 'lr = 0.1'), retries: '-2' };
  await drafts.save(PATH, null, { ...form, after: 'nosuchjob' });
  const asked: unknown[] = [];
  const node = document.body.appendChild(document.createElement('div'));
  const root = createRoot(node);
  const no = (): (() => void) => () => undefined;
  const notebook = {
    path: PATH,
    parameters: 'lr = 0.1',
    names: async () => null,
    onSaved: no,
    onIdle: no,
    unsaved: false,
    onUnsaved: () => () => undefined
  };
  const refusal = new RequestError(404, {
    code: 'no_job',
    message: 'There is no job nosuchjob.',
    hint: '',
    details: { field: 'after' }
  });
  await act(async () =>
    root.render(
      <SubmitForm
        notebook={notebook as unknown as INotebook}
        drafts={drafts}
        typed={typedIn(null, 'a')}
        highlight={async () => undefined}
        like={null}
        site={{ profiles: [] } as unknown as ISite}
        jobs={
          {
            plan: async ({ retries, after }: JobRequest) => {
              asked.push([retries, after]);
              throw refusal;
            }
          } as unknown as IJobs
        }
        commands={new CommandRegistry()}
        trans={nullTranslator.load('dtrain_lab')}
        confirmLarge={async () => true}
        confirmDiscard={async () => true}
        submitted={() => undefined}
      />
    )
  );
  await act(async () => void vi.advanceTimersByTime(1000));
  expect(asked).toEqual([[0, 'nosuchjob']]);
  expect(node.querySelector('h2')?.textContent).toContain('2 problems');
  expect(node.textContent).toContain('-2 is too low');
  expect(node.textContent).toContain('There is no job nosuchjob.');
  expect(node.textContent).toContain('Fix 2 problems to submit');
  act(() => root.unmount());
  node.remove();
  vi.useRealTimers();
});
