import { Notification } from '@jupyterlab/apputils';
import { Contents, ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { request } from '../request/rest';

const NAME = 'quickstart.ipynb';
const TOLD_MS = 10_000;

/**
 * Open a copy of the quickstart notebook, with the notebooks that it leads to beside it, and pages of the
 * documentation in a folder: what is there stays as it is. A notification says what was copied where.
 *
 * @param folder where they are put.
 */
export async function openQuickstart(
  folder: string,
  contents: Contents.IManager,
  settings: ServerConnection.ISettings,
  commands: CommandRegistry,
  trans: TranslationBundle
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
  let notebooks = 0;
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
    notebooks += Number(typeof content !== 'string');
  }
  tellCopied(notebooks, [...made], folder, trans);
  await commands.execute('docmanager:open', {
    path: pathOf(NAME),
    factory: 'Notebook'
  });
}

/** Say what was copied to a folder of the user's; nothing where it had all of it. */
function tellCopied(
  notebooks: number,
  folders: readonly string[],
  folder: string,
  trans: TranslationBundle
): void {
  const copied = [
    ...(notebooks
      ? [trans._n('%1 notebook', '%1 notebooks', notebooks, notebooks)]
      : []),
    ...folders.map(name => trans.__('the folder %1', name))
  ];
  if (!copied.length) {
    return;
  }
  const [first, second] = copied;
  const what = second ? trans.__('%1 and %2', first, second) : first;
  Notification.info(
    folder
      ? trans.__(
          'Copied to %1: %2. Files that were there are unchanged.',
          folder,
          what
        )
      : trans.__(
          'Copied to the top folder: %1. Files that were there are unchanged.',
          what
        ),
    { autoClose: TOLD_MS }
  );
}
