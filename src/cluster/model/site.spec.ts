import { ServerConnection } from '@jupyterlab/services';
import { expect, it, vi } from 'vitest';

import { Profile } from '../../tokens';
import { ServerSite } from './site';

const { answers } = vi.hoisted(() => ({
  answers: [] as ((profiles: unknown) => void)[]
}));
vi.mock('../../request/rest', () => ({
  request: () => new Promise(answer => void answers.push(answer))
}));

const profile = (name: string): Profile => ({ name }) as Profile;

it('reads profiles with one request at a time, and tells only of changes', async () => {
  const site = new ServerSite(ServerConnection.makeSettings());
  const told = vi.fn();
  site.changed.connect(told);
  const read = async (...profiles: Profile[]): Promise<void> => {
    const all = [site.readProfiles(), site.readProfiles()];
    expect(answers).toHaveLength(1);
    answers.pop()?.(profiles);
    await Promise.all(all);
  };
  await read(profile('a'));
  expect(site.profiles).toEqual([profile('a')]);
  await read(profile('a'));
  expect(told).toHaveBeenCalledTimes(1);
  await read(profile('a'), profile('b'));
  expect(told).toHaveBeenCalledTimes(2);
});

it('keeps what was written while it read', async () => {
  const site = new ServerSite(ServerConnection.makeSettings());
  const reading = site.readProfiles();
  site.setProfiles([profile('new')]);
  answers.pop()?.([profile('old')]);
  await reading;
  expect(site.profiles).toEqual([profile('new')]);
});
