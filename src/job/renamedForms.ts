import { Contents } from '@jupyterlab/services';
import { IStateDB } from '@jupyterlab/statedb';
import { Widget } from '@lumino/widgets';

import { moveTyped } from './form/drafts';

/** A form of a notebook in the main area. */
interface INotebookForm extends Widget {
  readonly args: { path: string; like?: string };
  /** Its id if its notebook had this path. */
  idAt(path: string): string;
}

/** Open forms, and what opens another one. */
interface IForms<T extends INotebookForm> {
  filter(wanted: (form: T) => boolean): T[];
  /** Open it; in front only if `shown`. */
  open(path: string, like: string | null, shown: boolean): Promise<void>;
}

/**
 * Keeps forms at their notebooks: where one, or a folder above it, is renamed, its form is opened again under the new
 * path, with all that was typed.
 */
export function followRenames<T extends INotebookForm>(
  contents: Pick<Contents.IManager, 'fileChanged'>,
  state: IStateDB | null,
  forms: IForms<T>
): void {
  const follow = async (form: T, path: string): Promise<void> => {
    const like = form.args.like ?? null;
    const shown = form.isVisible;
    await moveTyped(state, form.id, form.idAt(path));
    form.close();
    await forms.open(path, like, shown);
  };
  contents.fileChanged.connect((_, { type, oldValue, newValue }) => {
    const before = oldValue?.path;
    const after = newValue?.path;
    if (type !== 'rename' || !before || !after) {
      return;
    }
    const of = (path: string): boolean =>
      path === before || path.startsWith(`${before}/`);
    for (const form of forms.filter(f => of(f.args.path))) {
      void follow(form, after + form.args.path.slice(before.length));
    }
  });
}
