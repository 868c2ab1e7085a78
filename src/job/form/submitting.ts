import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { reportErrors } from '../../cluster/dialogs/reportErrors';
import { CommandIDs } from '../../commands';
import { RequestError } from '../../request/rest';
import { IChecked, isHindered, useSending } from './checkForm';
import { refusalOf } from '../model/refusal';
import { IDrafts } from './drafts';
import { IFilled } from './initialForm';
import { INotebook } from './notebook';
import { IJobs, JobPlan } from '../../tokens';

/** A job with more ranks has to be confirmed. */
const LARGE = 64;

/** What submits a form, and who is told. */
export interface ISubmitting {
  notebook: INotebook;
  drafts: IDrafts;
  /** A job whose request filled the form. */
  like: string | null;
  jobs: IJobs;
  commands: CommandRegistry;
  trans: TranslationBundle;
  /** The form; null until it is filled. */
  filled: IFilled | null;
  checked: IChecked;
  /** Why it can't be submitted; empty if it can. */
  why: string;
  confirmLarge(ranks: number): Promise<boolean>;
  /** Called if it can't be submitted. */
  hindered: () => void;
  /** Checks the form again, and shows the plan. */
  renew: () => Promise<JobPlan>;
  /** Called with the server's refusal. */
  refuse: (error: RequestError) => void;
  /** Called once it has been submitted. */
  submitted(): void;
}

/**
 * Submits a job on request, after its check, and opens its view.
 *
 * @returns whether it is being sent or waits for its check, and the function that requests it
 */
export function useSubmitting(of: ISubmitting): [boolean, () => void] {
  const { notebook, jobs, commands, trans, filled } = of;
  const { plan, busy } = of.checked;
  return useSending(filled?.form ?? null, busy, async sends => {
    if (!filled) {
      return;
    }
    if (of.why) {
      of.hindered();
      return;
    }
    const ranks = plan?.size ? plan.size.nodes * plan.size.ranks_per_node : 0;
    try {
      if (ranks > LARGE && !(await of.confirmLarge(ranks))) {
        return;
      }
      sends();
      // a notebook that was just saved has no plan yet
      const planned =
        (await notebook.save()) || !plan ? await of.renew() : plan;
      if (isHindered(planned)) {
        return; // the report says so, beside the script that was saved
      }
      const job = await jobs.submit(notebook.path, planned.id);
      void commands.execute(CommandIDs.openJob, { id: job.id, name: job.name });
      of.submitted();
      // the job is submitted even if its draft can't be removed
      void reportErrors(trans, () => of.drafts.remove(notebook.path, of.like));
    } catch (failure) {
      of.refuse(refusalOf(failure, trans));
    }
  });
}
