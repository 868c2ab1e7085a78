import { Contents, ServerConnection } from '@jupyterlab/services';
import { CommandRegistry } from '@lumino/commands';

import { request } from '../request/rest';

const NAME = 'quickstart.ipynb';

/**
 * Open a copy of the quickstart notebook, with the notebooks that it leads to beside it, and pages of the
 * documentation in a folder: what is there stays as it is.
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
  const files = await request<Record<string, object | string>>(
    settings,
    'GET',
    'quickstart'
  );
  const made = new Set<string>();
  for (const [name, content] of Object.entries(files)) {
    const [first, ...below] = name.split('/');
    if (there.has(first)) {
      continue;
    }
    if (below.length && !made.has(first)) {
      await contents.save(pathOf(first), { type: 'directory' });
      made.add(first);
    }
    await contents.save(
      pathOf(name),
      typeof content === 'string'
        ? { type: 'file', format: 'text', content }
        : { type: 'notebook', format: 'json', content }
    );
  }
  await commands.execute('docmanager:open', {
    path: pathOf(NAME),
    factory: 'Notebook'
  });
}
