import { PageConfig } from '@jupyterlab/coreutils';

/** Options of the page that specs set. */
export const SET = ['dtrainRoot', 'notebookPage', 'serverRoot'];

/** Forget what a spec has told of the page: the next one may run in the same document. */
export function forgetPage(): void {
  SET.forEach(name => PageConfig.setOption(name, ''));
}
