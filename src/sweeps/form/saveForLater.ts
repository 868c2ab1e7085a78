import { useState } from 'react';

import { IDrafts } from '../../job/form/drafts';
import { IForm } from '../../job/model/formRequest';
import { ISweepForm } from '../model/formRequest';

/** Where a sweep's form is saved for later, in its two parts. */
export interface ISweepDrafts {
  drafts: IDrafts;
  /** Search spaces, each with the rest of its form in `drafts`. */
  spaces: IDrafts<ISweepForm>;
}

/**
 * Saves a sweep's form for later.
 *
 * @param path - the notebook's
 * @returns whether the form is saved as it is, and the functions to save it and to forget it
 */
export function useSaving(
  { drafts, spaces }: ISweepDrafts,
  path: string,
  form: IForm | null,
  space: ISweepForm
): { saved: boolean; keep(): Promise<void>; forget(): Promise<void> } {
  const [kept, setKept] = useState<readonly [IForm, ISweepForm] | null>(null);
  return {
    saved: kept?.[0] === form && kept?.[1] === space,
    keep: async () => {
      if (form) {
        await drafts.save(path, null, form);
        await spaces.save(path, null, space);
        setKept([form, space]);
      }
    },
    forget: async () => {
      await drafts.remove(path, null);
      await spaces.remove(path, null);
    }
  };
}
