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
