import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { CommandIDs } from '../../commands';
import { Profile, Site } from '../../tokens';
import { Empty } from '../card/emptyState';
import { ProfileList } from './list';

const trans = nullTranslator.load('dtrain_lab');
const file = '/home/u/.jupyter/dtrain-lab/profiles/far.toml';
const message = `${file}, line 2: unknown key "node" in [slurm].`;
const error = { code: 'bad_profile', message, hint: 'Did you mean nodes?' };
const broken = { name: 'far', backend: null, file, error };
const whole = { name: 'near', backend: 'ssh', file: '/n.toml', error: null };
const profiles = [broken, whole] as unknown as Profile[];

function commands(): CommandRegistry {
  const made = new CommandRegistry();
  for (const id of [CommandIDs.startCluster, CommandIDs.editProfile]) {
    made.addCommand(id, { execute: () => undefined });
  }
  return made;
}

function drawn(element: JSX.Element): HTMLElement {
  const host = document.createElement('div');
  host.innerHTML = renderToStaticMarkup(element);
  return host;
}

it('says below its name what is wrong with a profile, and how to mend it; the path is a tooltip', () => {
  const list = drawn(
    <ProfileList
      profiles={profiles}
      mayWrite
      commands={commands()}
      trans={trans}
    />
  );
  const [first, second] = list.querySelectorAll('li');
  const problem = first.querySelector<HTMLElement>('[data-error]');
  expect(problem?.textContent).toBe(
    'line 2: unknown key "node" in [slurm]. Did you mean nodes?'
  );
  expect(problem?.title).toBe(file);
  expect(problem?.parentElement).toBe(first); // not in the narrow column of the name
  expect(first.textContent).not.toContain(file);
  expect(second.querySelector('[data-error]')).toBeNull();
});

it('offers no profile for a start that has an error', () => {
  const site = { cpus: 2, gpus: 0, may_write: true } as unknown as Site;
  const empty = drawn(
    <Empty
      site={site}
      profiles={profiles}
      commands={commands()}
      trans={trans}
    />
  );
  const names = [...empty.querySelectorAll('li b')].map(b => b.textContent);
  expect(names).toEqual(['near']);
  expect(empty.textContent).not.toContain('line 2');
});
