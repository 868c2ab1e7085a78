import { IStateDB } from '@jupyterlab/statedb';
import { TranslationBundle } from '@jupyterlab/translation';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { confirmLoss } from '../../cluster/dialogs/dialogs';
import { IForm } from '../model/formRequest';

/** Saved forms: a notebook's own, and one for each job that is duplicated (`like`). */
export interface IDrafts<T extends object = IForm> {
  load(path: string, like: string | null): Promise<T | null>;
  save(path: string, like: string | null, form: T): Promise<void>;
  remove(path: string, like: string | null): Promise<void>;
}

/**
 * Forms saved in the browser's state; without it they last as long as this page.
 *
 * @param kind - what they are of; those of another kind have their own
 */
export function draftsIn<T extends object = IForm>(
  state: IStateDB | null,
  kind = 'submit'
): IDrafts<T> {
  const held = new Map<string, T>();
  const key = (path: string, like: string | null): string =>
    [`dtrain-lab:${kind}`, path, like].filter(Boolean).join(':');
  return {
    load: async (path, like) =>
      ((await state?.fetch(key(path, like))) as unknown as T | undefined) ??
      held.get(key(path, like)) ??
      null,
    save: async (path, like, form) => {
      held.set(key(path, like), form);
      await state?.save(key(path, like), {
        ...form
      } as ReadonlyPartialJSONObject);
    },
    remove: async (path, like) => {
      held.delete(key(path, like));
      await state?.remove(key(path, like));
    }
  };
}

/** Ask whether what was saved for later is to be discarded. */
export function confirmDiscard(trans: TranslationBundle): Promise<boolean> {
  return confirmLoss(
    trans.__('Discard what you saved for later?'),
    trans.__('The form is filled in again as if you had saved nothing.'),
    trans.__('Discard'),
    trans
  );
}

/** Contents of an open form, by part, which a reloaded page restores. */
export interface ITyped {
  load<T>(part: string): Promise<T | null>;
  save(part: string, typed: object): void;
  /** The form was closed, or sent. */
  forget(): void;
}

function typedKey(id: string): string {
  return `dtrain-lab:typed:${id}`;
}

/** Saves the contents of an open form for another one, whose widget's id is `to`. */
export async function moveTyped(
  state: IStateDB | null,
  from: string,
  to: string
): Promise<void> {
  const kept = await state?.fetch(typedKey(from));
  if (kept !== undefined) {
    await state?.save(typedKey(to), kept);
  }
}

/** Contents of a form, by its widget's id, saved in the browser's state. */
export function typedIn(state: IStateDB | null, id: string): ITyped {
  const key = typedKey(id);
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
