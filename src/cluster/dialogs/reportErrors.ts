import { TranslationBundle } from '@jupyterlab/translation';

import { showFailure } from './dialogs';
import { signedIn } from './signin';

/**
 * Run an action; if it fails, show the error and what to do.
 *
 * @param name - the cluster on which it acts.
 */
export async function reportErrors(
  trans: TranslationBundle,
  work: () => Promise<void> | void,
  name = ''
): Promise<void> {
  try {
    await signedIn(trans, work);
  } catch (error) {
    await showFailure(error, trans, name);
  }
}
