import { Notification } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { Contents, ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import { request } from '../request/rest';

const NAME = 'quickstart.ipynb';
/** The examples' own folder, created where the file browser is. */
const FOLDER = 'dtrain-lab-examples';
const TOLD_MS = 10_000;

/**
 * Open a copy of the quickstart notebook in a folder of its own, with the notebooks and pages of the
 * documentation that it leads to: what is there stays as it is. A notification says what was copied where.
 *
 * @param parent where that folder is put; itself, if it is that folder.
 */
export async function openQuickstart(
  parent: string,
  contents: Contents.IManager,
  settings: ServerConnection.ISettings,
  commands: CommandRegistry,
  trans: TranslationBundle
): Promise<void> {
  const namesIn = async (path: string): Promise<Set<string>> => {
    const { content } = await contents.get(path);
    return new Set((content as Contents.IModel[]).map(file => file.name));
  };
  const isIn = PathExt.basename(parent) === FOLDER;
  const folder = isIn ? parent : PathExt.join(parent, FOLDER);
  const isNew = !isIn && !(await namesIn(parent)).has(FOLDER);
  // by their paths: notebooks, and pages as text
  const files = (await request(settings, 'GET', '/quickstart')) as Readonly<
    Record<string, object | string>
  >;
  if (isNew) {
    await contents.save(folder, { type: 'directory' });
  }
  const there = isNew ? new Set<string>() : await namesIn(folder);
  const created = new Set<string>();
  let copied = 0;
  for (const [name, content] of Object.entries(files)) {
    const [first, ...below] = name.split('/');
    if (there.has(first)) {
      continue;
    }
    if (below.length && !created.has(first)) {
      await contents.save(PathExt.join(folder, first), { type: 'directory' });
      created.add(first);
    }
    await contents.save(
      PathExt.join(folder, name),
      typeof content === 'string'
        ? { type: 'file', format: 'text', content }
        : { type: 'notebook', format: 'json', content }
    );
    copied++;
  }
  if (copied) {
    Notification.info(
      isNew
        ? trans.__(
            'The quickstart and the notebooks that follow it are in the new folder %1.',
            folder
          )
        : trans.__(
            'Examples that were missing were copied to %1. The other files there are unchanged.',
            folder
          ),
      { autoClose: TOLD_MS }
    );
  }
  await commands.execute('docmanager:open', {
    path: PathExt.join(folder, NAME),
    factory: 'Notebook'
  });
}
