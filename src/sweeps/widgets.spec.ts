import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { ISweeps, Sweep } from '../tokens';
import { SweepView } from './widgets';

it('tells sweeps of the same name apart by the tab, as jobs', () => {
  const at = (minute: number): number =>
    new Date(2026, 0, 5, 10, minute).getTime() / 1000;
  const sweep = (id: string, name: string, minute: number): Sweep =>
    ({ id, name, created_at: at(minute), notebook: 'reg.ipynb' }) as Sweep;
  const known = [sweep('a', 'reg', 5)];
  const sweeps = { known } as unknown as {
    -readonly [K in keyof ISweeps]: ISweeps[K];
  };
  const seen = new Signal<ISweeps, readonly Sweep[]>(sweeps);
  sweeps.seen = seen;
  const view = new SweepView({
    id: 'a',
    name: 'reg',
    sweeps,
    commands: new CommandRegistry(),
    trans: nullTranslator.load(''),
    openNotebook: () => undefined
  });
  expect(view.title.label).toBe('Sweep: reg');
  expect(view.title.caption).toMatch(
    /^Sweep reg of reg.ipynb, submitted .*10:05/
  );
  known.push(sweep('b', 'other', 6), sweep('c', 'reg', 7));
  seen.emit(known);
  expect(view.title.label).toMatch(/^reg, 10:05/);
  known.splice(1);
  seen.emit(known);
  expect(view.title.label).toBe('Sweep: reg');
  view.dispose();
});
