import { JupyterFrontEnd } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../commands';
import { executedPath } from './executedDrive';
import { addSubmit, ISubmitDependencies } from './submit';
import type { SubmitView } from './widgets';

vi.mock('./form/form', () => ({ SubmitForm: () => null }));

it('opens the form of a notebook once, and beside it a copy of a job, which is in front', async () => {
  const commands = new CommandRegistry();
  const added: Widget[] = [];
  const front: string[] = [];
  const app = {
    commands,
    shell: {
      add: (widget: Widget) => added.push(widget),
      activateById: (id: string) => front.push(id)
    },
    serviceManager: { contents: { fileChanged: new Signal({}) } }
  };
  addSubmit({
    app: app as unknown as JupyterFrontEnd,
    model: { watch: () => null },
    jobs: {},
    notebooks: null,
    browser: null,
    languages: null,
    state: null,
    openNotebook: async () => undefined,
    trans: nullTranslator.load('x')
  } as unknown as ISubmitDependencies);
  const open = (like?: string): Promise<unknown> =>
    commands.execute(CommandIDs.submitNotebook, {
      path: 'a.ipynb',
      ...(like ? { like } : {})
    });
  await open();
  await open();
  expect(added).toHaveLength(1);
  await open('j1');
  await open('j1');
  await open('j2');
  expect(added).toHaveLength(3);
  expect(new Set(added.map(w => w.id)).size).toBe(3);
  const [form, one, other] = added.map(w => w.id);
  expect(front).toEqual([form, form, one, one, other]);
  added.forEach(widget => widget.dispose());
});

it('is there in a restored layout before JupyterLab is restored, and its notebook read', async () => {
  const commands = new CommandRegistry();
  const restore = vi.fn();
  const openNotebook = vi.fn(async () => undefined);
  const never = new Promise<void>(() => undefined);
  const app = {
    commands,
    restored: never,
    shell: { add: () => undefined, activateById: () => undefined },
    serviceManager: { contents: { fileChanged: new Signal({}) } }
  };
  addSubmit({
    app: app as unknown as JupyterFrontEnd,
    model: { watch: () => null },
    jobs: {},
    notebooks: null,
    browser: null,
    languages: null,
    state: null,
    restorer: { restore },
    openNotebook,
    trans: nullTranslator.load('x')
  } as unknown as ISubmitDependencies);
  const [forms, options] = restore.mock.calls[0] as [
    WidgetTracker<SubmitView>,
    { command: string; args: (view: SubmitView) => object }
  ];
  for (const args of [{ path: 'a.ipynb' }, { path: 'a.ipynb', like: 'j1' }]) {
    await commands.execute(options.command, args);
    const view = forms.find(
      f => JSON.stringify(f.args) === JSON.stringify(args)
    )!;
    expect(options.args(view)).toEqual(args);
    view.dispose();
  }
  expect(openNotebook).not.toHaveBeenCalled();
});

it('submits no executed notebook, and says why', () => {
  const commands = new CommandRegistry();
  addSubmit({
    app: {
      commands,
      serviceManager: { contents: { fileChanged: new Signal({}) } },
      shell: {}
    },
    notebooks: null,
    browser: null,
    state: null,
    trans: nullTranslator.load('x')
  } as unknown as ISubmitDependencies);
  const told = (path: string): [boolean, string] => [
    commands.isEnabled(CommandIDs.submitNotebook, { path }),
    commands.caption(CommandIDs.submitNotebook, { path })
  ];
  const job = { id: 'j1', name: 'night', notebook: 'a.ipynb' };
  expect(told(executedPath(job))).toEqual([
    false,
    'A job wrote this notebook. To submit, open the one that the job ran.'
  ]);
  expect(told('a.ipynb')).toEqual([
    true,
    'Run this notebook as a job on many nodes'
  ]);
});
