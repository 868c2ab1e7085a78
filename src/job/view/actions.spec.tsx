import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { CommandIDs } from '../../commands';
import { Job } from '../../tokens';
import { Actions } from './actions';

const trans = nullTranslator.load('dtrain_lab');

function shown(changes: Partial<Job>, why: string | null = null): string {
  const commands = new CommandRegistry();
  commands.addCommand(CommandIDs.resumeJob, { execute: () => undefined });
  commands.addCommand(CommandIDs.debugJob, { execute: () => undefined });
  const job = { id: 'j', name: 'j', state: 'failed', may: ['resume'] };
  return renderToStaticMarkup(
    <Actions
      job={{ ...job, error: null, ...changes } as Job}
      commands={commands}
      openNotebook={() => undefined}
      why={why}
      trans={trans}
    />
  );
}

it('promises to resume from a step only where the notebook loads a checkpoint', () => {
  const loads = shown({ checkpoint_step: 2304, begins_again: false });
  expect(loads).toContain('>Resume from step 2,304<');
  const never = shown({ checkpoint_step: 2304, begins_again: true });
  expect(never).toContain('>Run again from the beginning<');
  expect(never).toContain('never loads one (dt.latest_checkpoint).');
  expect(never).not.toContain('step 2,304');
  expect(shown({ checkpoint_step: null, begins_again: true })).toContain(
    '>Run again<'
  );
});

it.each([
  // an error of its code: the same code would fail again
  [{ fails_again: true, error: { cell: '[4]' } }, 'Debug in a cluster'],
  [{ fails_again: true, error: { cell: null } }, 'Open notebook'],
  [{ fails_again: false, error: { cell: '[4]' } }, 'Resume from step 4'],
  [{ fails_again: false, state: 'lost' }, 'Resume from step 4'],
  [{ fails_again: false, state: 'cancelled' }, 'Resume from step 4']
])('puts first what helps after its end: %j', (changes, first) => {
  const host = document.createElement('div');
  host.innerHTML = shown({ checkpoint_step: 4, ...changes } as Partial<Job>);
  const primary = [...host.querySelectorAll('.jp-mod-primary')];
  expect(primary.map(b => b.textContent)).toEqual([first]);
  const labels = [...host.querySelectorAll('button')].map(b => b.textContent);
  expect(labels.filter(label => label === 'Resume from step 4')).toHaveLength(
    1
  );
});

it('says why a job without a head has no debugger', () => {
  const message = "Nothing watches the ranks: the job's head was killed.";
  const host = document.createElement('div');
  host.innerHTML = shown({
    state: 'running',
    checkpoint_step: null,
    may: ['cancel'],
    reason: { code: 'head_ended', message } as Job['reason']
  });
  const debug = [...host.querySelectorAll('button')].find(
    b => b.textContent === 'Debug'
  );
  expect(debug?.getAttribute('aria-disabled')).toBe('true');
  expect(debug?.title).toBe(message);
});

it('offers nothing without a connection to the server', () => {
  const why = 'No connection to the server.';
  const host = document.createElement('div');
  host.innerHTML = shown({ checkpoint_step: null }, why);
  const resume = [...host.querySelectorAll('button')].find(b =>
    b.textContent?.startsWith('Run again')
  );
  expect(resume?.getAttribute('aria-disabled')).toBe('true');
  expect(resume?.title).toBe(why);
  host.innerHTML = shown({ checkpoint_step: null });
  expect(host.querySelector('[aria-disabled]')).toBeNull();
});
