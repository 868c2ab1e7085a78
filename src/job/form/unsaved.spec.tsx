// alone: fake timers
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { Finding, IJobs, ISite, JobPlan } from '../../tokens';
import { draftsIn, typedIn } from './drafts';
import { SubmitForm } from './form';
import { INotebook } from './notebook';

const planned = (...findings: Partial<Finding>[]): JobPlan =>
  ({
    id: 'p',
    findings,
    files: [],
    cells: 3,
    modules: null,
    size: { nodes: 1, ranks_per_node: 1 }
  }) as unknown as JobPlan;

it('says that the check is of the saved notebook, and checks again what Submit saves', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.useFakeTimers();
  const node = document.body.appendChild(document.createElement('div'));
  const root = createRoot(node);
  const no = (): (() => void) => () => undefined;
  let changed = (): void => undefined;
  const notebook = {
    path: 'a.ipynb',
    parameters: 'lr = 0.1\nfresh = 7',
    names: async () => null,
    onSaved: no,
    onIdle: no,
    unsaved: true,
    onUnsaved: (call: () => void) => {
      changed = call;
      return () => undefined;
    },
    save: async () => {
      notebook.unsaved = false;
      changed();
      return true;
    }
  };
  const message = 'The notebook has no parameter fresh.';
  let plan = planned(
    {
      severity: 'warning',
      code: 'no_such_parameter',
      parameter: 'fresh',
      message
    },
    { severity: 'warning', code: 'other', message: 'Slow.' }
  );
  const submit = vi.fn();
  await act(async () =>
    root.render(
      <SubmitForm
        notebook={notebook as unknown as INotebook}
        drafts={draftsIn(null)}
        typed={typedIn(null, 'a')}
        highlight={async () => undefined}
        like={null}
        site={{ profiles: [] } as unknown as ISite}
        jobs={
          {
            all: async () => [],
            plan: async () => plan,
            submit
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
  const heading = (): string => node.querySelector('h2')!.textContent!;
  expect(heading()).toBe('The notebook has unsaved changes');
  expect(node.textContent).toContain('Submit saves the changes first');
  expect(node.textContent).toContain('Slow.');
  // the file lacks it, the notebook does not
  expect(node.textContent).not.toContain(message);

  plan = planned({
    severity: 'problem',
    code: 'undefined',
    message: 'undefined_thing is not defined.',
    cell: '[5]',
    line: 3
  });
  await act(async () =>
    [...node.querySelectorAll('button')]
      .find(button => button.textContent === 'Submit')!
      .click()
  );
  expect(submit).not.toHaveBeenCalled();
  expect(heading()).toBe('1 problem stops this job');
  expect(node.textContent).toContain('undefined_thing is not defined.');
  expect(node.textContent).toContain('cell [5], line 3');
  expect(node.textContent).not.toContain('Save and check');
  act(() => root.unmount());
  node.remove();
  vi.useRealTimers();
});
