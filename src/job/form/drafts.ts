import { IStateDB } from '@jupyterlab/statedb';

import { IForm } from '../model/request';

/** Forms that were kept for later: a notebook's own, and each of its copies of jobs (`like`). */
export interface IDrafts {
  load(path: string, like: string | null): Promise<IForm | null>;
  save(path: string, like: string | null, form: IForm): Promise<void>;
  remove(path: string, like: string | null): Promise<void>;
}

/** Forms kept in the browser's state; without one they last as long as this page. */
export function draftsIn(state: IStateDB | null): IDrafts {
  const held = new Map<string, IForm>();
  const key = (path: string, like: string | null): string =>
    ['dtrain-lab:submit', path, like].filter(Boolean).join(':');
  return {
    load: async (path, like) =>
      ((await state?.fetch(key(path, like))) as unknown as IForm | undefined) ??
      held.get(key(path, like)) ??
      null,
    save: async (path, like, form) => {
      held.set(key(path, like), form);
      await state?.save(key(path, like), { ...form });
    },
    remove: async (path, like) => {
      held.delete(key(path, like));
      await state?.remove(key(path, like));
    }
  };
}
