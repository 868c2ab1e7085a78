import { IStateDB } from '@jupyterlab/statedb';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { IForm } from '../model/formRequest';

/** Saved forms: a notebook's own, and one for each job that is duplicated (`like`). */
export interface IDrafts {
  load(path: string, like: string | null): Promise<IForm | null>;
  save(path: string, like: string | null, form: IForm): Promise<void>;
  remove(path: string, like: string | null): Promise<void>;
}

/** Forms saved in the browser's state; without it they last as long as this page. */
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

/** Contents of an open form, by part, which a reloaded page restores. */
export interface ITyped {
  load<T>(part: string): Promise<T | null>;
  save(part: string, typed: object): void;
  /** The form was closed, or sent. */
  forget(): void;
}

/** Contents of a form, by its widget's id, saved in the browser's state. */
export function typedIn(state: IStateDB | null, id: string): ITyped {
  const key = `dtrain-lab:typed:${id}`;
  let parts: Record<string, object> = {};
  let open = true;
  return {
    load: async <T>(part: string) => {
      const kept = (await state?.fetch(key)) as typeof parts | undefined;
      parts = { ...kept, ...parts };
      return (parts[part] as T | undefined) ?? null;
    },
    save: (part, typed) => {
      parts = { ...parts, [part]: typed };
      if (open) {
        void state?.save(key, parts as ReadonlyPartialJSONObject);
      }
    },
    forget: () => {
      open = false;
      void state?.remove(key);
    }
  };
}
