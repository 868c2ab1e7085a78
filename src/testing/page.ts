import { PageConfig } from '@jupyterlab/coreutils';

/** Page options that specs set. */
export const SET = ['dtrainRoot', 'notebookPage', 'serverRoot'];

/** Reset the page options after a spec, because the next one may run in the same document. */
export function forgetPage(): void {
  SET.forEach(name => PageConfig.setOption(name, ''));
}
