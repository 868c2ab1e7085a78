import { TranslationBundle } from '@jupyterlab/translation';

/** Contents of a report. */
export interface IFindingsTexts {
  ready: string;
  /** Said where the notebook has changes that are not saved. */
  unsaved: string;
  /** Whether it is ready, except for warnings. */
  warned: (warnings: number) => string;
  stopped: (problems: number) => string;
  refused: string;
}

export function wordsOfJob(trans: TranslationBundle): IFindingsTexts {
  return {
    ready: trans.__('Ready to submit'),
    unsaved: trans.__(
      'The check and the script are of the saved notebook. Submit saves the changes first, and checks again.'
    ),
    warned: count =>
      trans._n('Ready, with %1 warning', 'Ready, with %1 warnings', count),
    stopped: count =>
      trans._n('%1 problem stops this job', '%1 problems stop this job', count),
    refused: trans.__("This can't be submitted.")
  };
}
