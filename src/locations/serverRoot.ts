import { PageConfig } from '@jupyterlab/coreutils';

/**
 * The server's folder; empty if the page does not know it. JupyterLab's own `serverRoot` may begin with "~".
 */
export function serverRoot(): string {
  const root =
    PageConfig.getOption('dtrainRoot') || PageConfig.getOption('serverRoot');
  return root.startsWith('/') ? root : '';
}
