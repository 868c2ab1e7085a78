import { Contents, ServerConnection } from '@jupyterlab/services';
import { CommandRegistry } from '@lumino/commands';

import { request } from '../request/rest';

const NAME = 'quickstart.ipynb';

/**
 * Open a copy of the quickstart notebook: the user's own, where there is one already.
 *
 * @param folder where it is put.
 */
export async function openQuickstart(
  folder: string,
  contents: Contents.IManager,
  settings: ServerConnection.ISettings,
  commands: CommandRegistry
): Promise<void> {
  const path = folder ? `${folder}/${NAME}` : NAME;
  const there = await contents
    .get(path, { content: false })
    .then(() => true)
    .catch(() => false);
  if (!there) {
    const notebook = await request<object>(settings, 'GET', 'quickstart');
    await contents.save(path, {
      type: 'notebook',
      format: 'json',
      content: notebook
    });
  }
  await commands.execute('docmanager:open', { path, factory: 'Notebook' });
}
