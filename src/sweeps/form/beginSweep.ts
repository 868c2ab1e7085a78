import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { useMemo } from 'react';

import { reportErrors } from '../../cluster/dialogs/reportErrors';
import { CommandIDs } from '../../commands';
import { isHindered, useSending } from '../../job/form/checkForm';
import { INotebook } from '../../job/form/notebook';
import { IForm } from '../../job/model/formRequest';
import { refusalOf } from '../../job/model/refusal';
import { RequestError } from '../../request/rest';
import { ISweeps, SweepPlan } from '../../tokens';
import { ISweepForm, wantedSweep } from '../model/formRequest';

/** What begins a sweep, and who is told. */
export interface IBeginning {
  notebook: INotebook;
  sweeps: ISweeps;
  commands: CommandRegistry;
  trans: TranslationBundle;
  /** The fields that a job has, too; null until they are filled. */
  form: IForm | null;
  sweep: ISweepForm;
  /** Whether the form is being checked. */
  busy: boolean;
  /** Why it can't begin; empty if it can. */
  why: string;
  /** Called at each attempt that does not wait for the check. */
  tried: () => void;
  /** Called if it can't begin. */
  hindered: () => void;
  /** Checks the form again, and shows the plan. */
  renew: () => Promise<SweepPlan>;
  /** Called with the server's refusal. */
  refuse: (error: RequestError) => void;
  /** Called once it has begun. */
  begun: () => void;
  /** Removes what was saved for later. */
  forget: () => Promise<void>;
}

/**
 * Begins a sweep on request, after its check, and opens its view.
 *
 * @returns whether it is being sent or waits for its check, and the function that requests it
 */
export function useBeginning(of: IBeginning): [boolean, () => void] {
  const { notebook, sweeps, commands, trans, form, sweep } = of;
  const entered = useMemo(() => ({ form, sweep }), [form, sweep]);
  return useSending(entered, of.busy, async sends => {
    if (!form) {
      return;
    }
    of.tried();
    if (of.why) {
      of.hindered();
      return;
    }
    sends();
    try {
      if ((await notebook.save()) && isHindered(await of.renew())) {
        return; // the report says so, beside the script that was saved
      }
      const begun = await sweeps.begin(
        wantedSweep(sweep, form, notebook.path, notebook.parameters)
      );
      void commands.execute(CommandIDs.openSweep, {
        id: begun.id,
        name: begun.name
      });
      of.begun();
      // the sweep has begun even if its draft can't be removed
      void reportErrors(trans, of.forget);
    } catch (failure) {
      of.refuse(refusalOf(failure, trans));
    }
  });
}
