import { Dialog } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { afterEach, expect, it, vi } from 'vitest';

import { RequestError } from '../../request/rest';
import { makeCluster } from '../../testing/clusters';
import { Cluster, ISite } from '../../tokens';
import { FormDialog } from './formDialog';
import { NameBody } from '../profiles/commands';
import { askStart, usualRanks } from './startForm';

const trans = nullTranslator.load('dtrain_lab');
const site = {
  profiles: [{ name: 'local', error: null, traits: { one_machine: true } }],
  facts: { default_ranks: 2 }
} as unknown as ISite;

afterEach(() => {
  Dialog.flush();
});

function field(name: string): HTMLInputElement {
  return document.querySelector<HTMLInputElement>(
    `.jp-Dialog [data-field=${name}]`
  )!;
}

function faultOf(name: string): string {
  const id = field(name).getAttribute('aria-describedby')!;
  return document.getElementById(id)!.textContent!;
}

function press(label: string): void {
  [...document.querySelectorAll<HTMLElement>('.jp-Dialog-button')]
    .find(button => button.textContent === label)!
    .click();
}

it('keeps the start dialog and what is in it while a number, a name or the server is against it', async () => {
  const refusal = new RequestError(400, {
    code: 'bad_size',
    message: '300 ranks are too many for this machine.',
    hint: 'Ask for at most 16.',
    details: { field: 'ranks' }
  });
  const send = vi.fn().mockRejectedValueOnce(refusal).mockResolvedValue(null);
  const done = askStart(
    site,
    { profile: 'local' },
    trans,
    send,
    async () => undefined
  );
  await vi.waitFor(() => expect(field('ranks').value).toBe('2'));
  field('ranks').value = 'two';
  field('name').value = 'my/run';
  press('Start');
  expect(faultOf('ranks')).toBe('"two" is not a whole number.');
  expect(faultOf('name')).toContain('Use up to 63 letters');
  expect(document.activeElement).toBe(field('ranks'));
  expect(send).not.toHaveBeenCalled();
  field('ranks').value = '300';
  field('name').value = 'mine';
  press('Start');
  await vi.waitFor(() =>
    expect(faultOf('ranks')).toContain('Ask for at most 16')
  );
  expect(faultOf('name')).toBe('');
  expect(field('name').value).toBe('mine');
  field('ranks').value = '4';
  field('ranks').dispatchEvent(new Event('input'));
  expect(faultOf('ranks')).toBe('');
  expect(field('ranks').getAttribute('aria-invalid')).toBe('false');
  press('Start');
  await done;
  expect(send).toHaveBeenLastCalledWith({
    profile: 'local',
    ranks: 4,
    name: 'mine'
  });
  expect(document.querySelector('.jp-Dialog')).toBeNull();
});

it.each([
  ['Cancel', () => press('Cancel')],
  [
    'a click outside',
    () => document.querySelector<HTMLElement>('.jp-Dialog')!.click()
  ]
])(
  'ends what begins to start after somebody gave up by %s',
  async (_, giveUp) => {
    let begin: (cluster: Cluster) => void = () => undefined;
    const send = vi.fn(
      () => new Promise<Cluster>(resolve => void (begin = resolve))
    );
    const stop = vi.fn().mockResolvedValue(undefined);
    const done = askStart(site, { profile: 'local' }, trans, send, stop);
    await vi.waitFor(() => expect(field('ranks').value).toBe('2'));
    press('Start');
    press('Starting…');
    expect(send).toHaveBeenCalledTimes(1);
    const form = document.querySelector('.jp-DtrainCluster-form');
    expect(form?.getAttribute('aria-busy')).toBe('true');
    giveUp();
    await done;
    expect(stop).not.toHaveBeenCalled();
    const cluster = makeCluster();
    begin(cluster);
    await vi.waitFor(() => expect(stop).toHaveBeenCalledWith(cluster));
  }
);

it('says which names a profile may have, before anybody is asked', async () => {
  const body = new NameBody(['an old one'], trans);
  const dialog = new FormDialog('', body, 'Go', async () => null, trans);
  const done = dialog.launch();
  await vi.waitFor(() => expect(field('name')).not.toBeNull());
  for (const [name, said] of [
    ['', 'Enter a name.'],
    ['bad one/..', '"bad one/.." can\'t be a name. Use up to 63 letters']
  ]) {
    field('name').value = name;
    press('Go');
    expect(faultOf('name')).toContain(said);
    expect(field('name').value).toBe(name);
  }
  field('name').value = 'an old one';
  press('Go');
  expect((await done).value).toBe('an old one');
});

it('stays open at the second press of the double click that opened it', async () => {
  const asked = askStart(
    site,
    { profile: 'local' },
    trans,
    vi.fn(),
    async () => undefined
  );
  await vi.waitFor(() => expect(field('ranks').value).toBe('2'));
  const dialog = document.querySelector<HTMLElement>('.jp-Dialog')!;
  const press = (detail: number): void =>
    ['mousedown', 'click'].forEach(type =>
      dialog.dispatchEvent(new MouseEvent(type, { detail, bubbles: true }))
    );
  press(2);
  expect(document.querySelector('.jp-Dialog')).not.toBeNull();
  press(1);
  await asked;
  expect(document.querySelector('.jp-Dialog')).toBeNull();
});

it('says how many ranks a profile gives, if that does not depend on its machines', () => {
  const profiles = [
    { name: 'local', profile: {}, traits: { one_machine: true } },
    { name: 'four', profile: { backend: 'ssh', nodes: 2, ranks_per_node: 4 } },
    { name: 'gpus', profile: { backend: 'slurm', nodes: 2 } }
  ] as unknown as ISite['profiles'];
  const of = (name: string): number | null =>
    usualRanks({ profiles, facts: site.facts }, name);
  expect(['local', 'four', 'gpus'].map(of)).toEqual([2, 8, null]);
});

it('goes from its first field to its last button at Shift+Tab', async () => {
  const send = vi.fn();
  const done = askStart(site, {}, trans, send, async () => undefined);
  await vi.waitFor(() => expect(field('profile')).toBeTruthy());
  field('profile').focus();
  const back = { key: 'Tab', shiftKey: true, bubbles: true, cancelable: true };
  document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', back));
  expect(document.activeElement!.textContent).toBe('Start');
  press('Cancel');
  await done;
  expect(send).not.toHaveBeenCalled();
});

it('proposes a number of ranks for each profile that leaves it to this machine, whatever its name', async () => {
  const here = { error: null, traits: { one_machine: true } };
  const profiles = [
    { ...here, name: 'local', profile: { nodes: null } },
    { ...here, name: 'mine', profile: { nodes: null } },
    { ...here, name: 'three', profile: { nodes: null, ranks_per_node: 3 } },
    { ...here, name: 'far', profile: {}, traits: { one_machine: false } }
  ] as unknown as ISite['profiles'];
  const send = vi.fn();
  const known = { ...site, profiles };
  const done = askStart(known, {}, trans, send, async () => undefined);
  await vi.waitFor(() => expect(field('profile')).toBeTruthy());
  const proposed = profiles.map(({ name }) => {
    field('profile').value = name;
    field('profile').dispatchEvent(new Event('change'));
    return [field('ranks').value, field('ranks').placeholder];
  });
  expect(proposed).toEqual([
    ['2', 'as the profile says: 2'],
    ['2', 'as the profile says: 2'],
    ['', 'as the profile says: 3'],
    ['', 'as the profile says']
  ]);
  press('Cancel');
  await done;
});
