import { Contents } from '@jupyterlab/services';
import { IStateDB } from '@jupyterlab/statedb';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { expect, it, vi } from 'vitest';

import { typedIn } from './form/drafts';
import { followRenames } from './renamedForms';

class Form extends Widget {
  constructor(readonly args: { path: string; like?: string }) {
    super();
    this.id = this.idAt(args.path);
  }

  idAt(path: string): string {
    return [path, this.args.like].filter(Boolean).join('-');
  }
}

it('opens a form again under the path of its renamed notebook, with what was typed', async () => {
  const kept = new Map<string, object>();
  const state = {
    fetch: async (id: string) => kept.get(id),
    save: async (id: string, value: object) => void kept.set(id, value),
    remove: async (id: string) => void kept.delete(id)
  } as unknown as IStateDB;
  typedIn(state, 'a/one.ipynb').save('form', { name: 'mine' });
  const fileChanged = new Signal<object, object>({});
  const forms = [
    new Form({ path: 'a/one.ipynb' }),
    new Form({ path: 'a/two.ipynb', like: 'j' }),
    new Form({ path: 'ab/three.ipynb' })
  ];
  const opened: unknown[] = [];
  const open = async (...form: unknown[]): Promise<void> => {
    opened.push(form);
  };
  followRenames(
    { fileChanged } as unknown as Pick<Contents.IManager, 'fileChanged'>,
    state,
    { filter: wanted => forms.filter(wanted), open }
  );
  const rename = (from: string, to: string): void =>
    fileChanged.emit({
      type: 'rename',
      oldValue: { path: from },
      newValue: { path: to }
    });
  fileChanged.emit({ type: 'save', newValue: { path: 'a/one.ipynb' } });
  rename('a/one.ipynb', 'a/new.ipynb');
  await vi.waitFor(() =>
    expect(opened).toEqual([['a/new.ipynb', null, false]])
  );
  expect(await typedIn(state, 'a/new.ipynb').load('form')).toEqual({
    name: 'mine'
  });
  // its folder
  forms.shift();
  rename('a', 'c');
  await vi.waitFor(() =>
    expect(opened.slice(1)).toEqual([['c/two.ipynb', 'j', false]])
  );
});
