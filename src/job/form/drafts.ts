import { IStateDB } from '@jupyterlab/statedb';

import { IForm } from '../model/request';

/** Forms that were kept for later, by notebook. */
export interface IDrafts {
  load(path: string): Promise<IForm | null>;
  save(path: string, form: IForm): Promise<void>;
  remove(path: string): Promise<void>;
}

/** Forms kept in the browser's state; without one they last as long as this page. */
export function draftsIn(state: IStateDB | null): IDrafts {
  const held = new Map<string, IForm>();
  const key = (path: string): string => `dtrain-lab:submit:${path}`;
  return {
    load: async path =>
      ((await state?.fetch(key(path))) as unknown as IForm | undefined) ??
      held.get(path) ??
      null,
    save: async (path, form) => {
      held.set(path, form);
      await state?.save(key(path), { ...form });
    },
    remove: async path => {
      held.delete(path);
      await state?.remove(key(path));
    }
  };
}
