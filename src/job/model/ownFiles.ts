import { TranslationBundle } from '@jupyterlab/translation';

/**
 * What a copied file of a job is, if it is the notebook or made from it; null for a file beside the notebook. Other
 * notebooks are never copied.
 *
 * @param path - in the job's folder
 */
export function ownFile(path: string, trans: TranslationBundle): string | null {
  if (path === 'code/dtrain_main.py') {
    return trans.__("the notebook's cells as a script");
  }
  if (/^code\/[^/]+\.ipynb$/.test(path)) {
    return trans.__('the notebook');
  }
  if (path === 'job.json') {
    return trans.__('what is submitted: size, parameters, environment');
  }
  return path.startsWith('code/') ? null : trans.__('starts the ranks');
}
