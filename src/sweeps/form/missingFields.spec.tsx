// alone: fake timers
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { Simulate } from 'react-dom/test-utils';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { draftsIn, typedIn } from '../../job/form/drafts';
import { INotebook } from '../../job/form/notebook';
import { IJobs, ISite, ISweeps, SweepPlan } from '../../tokens';
import { ISweepForm } from '../model/formRequest';
import { SweepForm } from './form';

const NOTHING =
  'No parameter varies yet. Give one a list of values or a range.';
const NAMELESS = 'Name a value that the notebook passes to dt.log.';
const INVALID = 'Without the fields that are invalid.';
const EARLIER = 'As it was at the last check that succeeded.';

const plan = {
  files: [{ path: 'code/dtrain_main.py', bytes: 9, text: 'lr = 0.1' }],
  findings: [],
  size: { nodes: 1, ranks_per_node: 1 }
} as unknown as SweepPlan;
const profile = { nodes: 1, ranks_per_node: 4, slurm: { time: null } };

let node: HTMLElement;
let close: () => void;

const field = (selector: string): HTMLInputElement =>
  node.querySelector<HTMLInputElement>(selector)!;

/** Fills fields, by their selectors, and waits for the check. */
async function fill(values: Record<string, string>): Promise<void> {
  for (const [selector, value] of Object.entries(values)) {
    act(() => {
      const found = field(selector);
      found.value = value;
      Simulate.change(found);
    });
  }
  await act(async () => void (await vi.advanceTimersByTimeAsync(1000)));
}

/** What the report says and lists, and what the bar says. */
function said(): [string, string[], string] {
  const text = (selector: string): string =>
    node.querySelector(selector)?.textContent ?? '';
  return [
    text('.jp-DtrainJob-check h2'),
    [...node.querySelectorAll('[data-severity=problem] b')].map(
      item => item.textContent ?? ''
    ),
    text('.jp-DtrainJob-submitBar [role=status]')
  ];
}

beforeEach(async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.useFakeTimers();
  node = document.body.appendChild(document.createElement('div'));
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
            onSaved: () => () => undefined,
            onIdle: () => () => undefined,
            unsaved: false,
            onUnsaved: () => () => undefined
          } as unknown as INotebook
        }
        drafts={draftsIn(null, 'sweep')}
        spaces={draftsIn<ISweepForm>(null, 'sweep-space')}
        typed={typedIn(null, 'a')}
        highlight={async (code, _, into) => into.append(code)}
        confirmDiscard={async () => true}
        site={{ profiles: [{ name: 'local', profile }] } as unknown as ISite}
        jobs={{ all: async () => [] } as unknown as IJobs}
        sweeps={{ plan: async () => plan } as unknown as ISweeps}
        commands={new CommandRegistry()}
        trans={nullTranslator.load('dtrain_lab')}
        begun={() => undefined}
      />
    )
  );
  await fill({});
  close = () => act(() => root.unmount());
});

afterEach(() => {
  close();
  node.remove();
  vi.useRealTimers();
});

it('says on a new form what comes next, and marks nothing', () => {
  expect(said()).toEqual([NOTHING, [], NOTHING]);
  expect(node.querySelector('[aria-invalid=true]')).toBeNull();
  // it is no sweep of one trial
  expect(node.textContent).toContain('No trial yet');
  expect(node.textContent).not.toContain('1 trial');
  // the script is that of the form as it is
  expect(node.textContent).not.toContain(INVALID);
  expect(node.textContent).not.toContain(EARLIER);
});

it('lists and marks an objective that was emptied, and counts it everywhere', async () => {
  await fill({ '[data-sweep=vary]': 'list' });
  await fill({ '[data-sweep=lr]': '0.1, 0.2', '[data-sweep=objective]': '' });
  expect(said()).toEqual([
    '1 problem stops this sweep',
    [expect.stringContaining(NAMELESS)],
    NAMELESS
  ]);
  expect(field('[data-sweep=objective]').getAttribute('aria-invalid')).toBe(
    'true'
  );
  expect(node.textContent).not.toContain(INVALID);

  await fill({ '[data-sweep=lr]': '0.1, x', '[data-sweep=trials]': '-2' });
  const [head, listed, bar] = said();
  expect(head).toBe('3 problems stop this sweep');
  expect(listed).toHaveLength(3);
  expect(bar).toMatch(/And 2 more problems\.$/);
  expect(node.textContent).toContain(INVALID);
});

it('counts what is missing beside another problem, though nobody has changed it', async () => {
  await fill({ '[data-sweep=trials]': '-2' });
  const [head, listed, bar] = said();
  expect(head).toBe('2 problems stop this sweep');
  expect(listed).toHaveLength(2);
  expect(bar).toMatch(/And 1 more problem\.$/);
});
