import { IDebugger } from '@jupyterlab/debugger';
import { IEditorTracker } from '@jupyterlab/fileeditor';
import { expect, it, vi } from 'vitest';

import { editorSearchOf } from '../../jupyterlab/debuggerSources';
import { FileWidget, pathOf, showStopsInOpenFiles } from './openFiles';

const widget = (localPath: string, isReady = true): FileWidget =>
  ({
    id: localPath,
    isDisposed: false,
    context: { localPath, isReady },
    content: { editor: `editor of ${localPath}`, model: { sharedModel: {} } }
  }) as unknown as FileWidget;

it('knows the path of an open Python file', () => {
  expect(pathOf(widget('lib/mylib.py'), '/home/me/')).toBe(
    '/home/me/lib/mylib.py'
  );
  expect(pathOf(widget('mylib.py'), '')).toBe('');
  expect(pathOf(widget('notes.md'), '/home/me')).toBe('');
  expect(pathOf(widget('mylib.py', false), '/home/me')).toBe('');
});

it('shows a stop in the editor of a file that is open, instead of opening a copy', async () => {
  const open = [widget('other.py'), widget('mylib.py')];
  const find = vi.fn(() => [] as IDebugger.ISources.IEditor[]);
  const sources = { find } as Pick<IDebugger.ISources, 'find'>;
  const activate = vi.fn();
  let on = true;
  const search = editorSearchOf(sources, vi.fn());
  showStopsInOpenFiles(
    search,
    {
      find: (test: (each: FileWidget) => boolean) => open.find(test)
    } as unknown as IEditorTracker,
    () => '/home/me',
    () => on,
    activate
  );
  const look = (source: string, focus = true): IDebugger.ISources.IEditor[] =>
    sources.find({ source, focus, kernel: 'python3', path: 'a.ipynb' });
  const [found, ...others] = look('/home/me/mylib.py');
  expect(others).toEqual([]);
  expect(found.get()).toBe('editor of mylib.py');
  expect(activate.mock.calls).toEqual([['mylib.py']]);
  await found.reveal();
  expect(activate).toHaveBeenCalledTimes(2);
  look('/home/me/mylib.py', false);
  expect(activate).toHaveBeenCalledTimes(2);
  expect(find).not.toHaveBeenCalled();
  // a cell, a file that is not open, and the notebook's own debugger are JupyterLab's
  look('/tmp/ipykernel_1/12.py');
  look('/home/me/else.py');
  look('');
  on = false;
  look('/home/me/mylib.py');
  expect(find).toHaveBeenCalledTimes(4);
  // given back
  on = true;
  search.dispose();
  look('/home/me/mylib.py');
  expect(find).toHaveBeenCalledTimes(5);
  expect(sources.find).toBe(find);
});

it('names what the manager of sources lacks', () => {
  const report = vi.fn();
  editorSearchOf({}, report);
  expect(report.mock.calls).toEqual([['IDebugger.ISources.find']]);
});
