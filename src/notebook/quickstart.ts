import { Contents, ServerConnection } from '@jupyterlab/services';
import { CommandRegistry } from '@lumino/commands';

import { request } from '../request/rest';

const NAME = 'quickstart.ipynb';

/**
 * Open a copy of the quickstart notebook, with those that it leads to beside it: files that are there stay as
 * they are.
 *
 * @param folder where they are put.
 */
export async function openQuickstart(
  folder: string,
  contents: Contents.IManager,
  settings: ServerConnection.ISettings,
  commands: CommandRegistry
): Promise<void> {
  const pathOf = (name: string): string =>
    folder ? `${folder}/${name}` : name;
  const listed = await contents.get(folder);
  const there = new Set(
    (listed.content as Contents.IModel[]).map(file => file.name)
  );
  const notebooks = await request<Record<string, object>>(
    settings,
    'GET',
    'quickstart'
  );
  for (const [name, content] of Object.entries(notebooks)) {
    if (!there.has(name)) {
      await contents.save(pathOf(name), {
        type: 'notebook',
        format: 'json',
        content
      });
    }
  }
  await commands.execute('docmanager:open', {
    path: pathOf(NAME),
    factory: 'Notebook'
  });
}
