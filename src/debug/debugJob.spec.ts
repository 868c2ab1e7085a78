import { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, Notification } from '@jupyterlab/apputils';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookContent } from '@jupyterlab/nbformat';
import { INotebookTracker } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../commands';
import { KernelRecords } from '../locations/kernelRecords';
import { makeCluster } from '../testing/clusters';
import { IJobs, ILiveState } from '../tokens';
import { openDialog } from '../ui/dialog';
import { addDebugJob } from './debugJob';
import { DebugModel } from './model/model';

vi.mock('../ui/dialog', () => ({ openDialog: vi.fn() }));

/** Nothing is turned off with a job. */
const NO_ENDS = {
  ready: Promise.resolve(),
  follow: () => undefined,
  leave: () => false
};

it('says that breakpoints stop a job once its ranks are debugged, and not before', async () => {
  const commands = new CommandRegistry();
  commands.addCommand('docmanager:open', { execute: () => panel });
  const done = (content: object): object => ({
    done: Promise.resolve({ content })
  });
  const kernel = {
    requestExecute: () => done({ status: 'ok' }),
    requestDebug: () => done({ body: { isStarted: true } })
  };
  const panel = {
    context: { ready: Promise.resolve() },
    sessionContext: { ready: Promise.resolve(), session: { kernel } }
  };
  const changed = new Signal<object, void>({});
  const focus = vi.fn(async () => {});
  const model = { view: null as object | null, changed, focus };
  const opened: string[] = [];
  const told = vi.spyOn(Notification, 'info').mockReturnValue('');
  const metrics = { verdicts: [{ code: 'stuck', alarm: true, ranks: [1] }] };
  const night = { id: 'j', name: 'night', notebook: 'a.ipynb' };
  const job = { ...night, ended_at: null, metrics };
  addDebugJob(
    {
      app: {
        commands,
        shell: { activateById: (id: string) => opened.push(id) }
      } as unknown as JupyterFrontEnd,
      clusters: { jobs: [job] } as unknown as ILiveState,
      tracker: { forEach: () => undefined } as unknown as INotebookTracker,
      debug: {} as IDebugger,
      model: model as unknown as DebugModel,
      queue: { idle: async () => {}, query: async () => {} },
      records: new KernelRecords(),
      trans: nullTranslator.load('x'),
      onError: error => expect(error).toBeUndefined()
    },
    {} as IJobs,
    NO_ENDS
  );
  const command = commands.execute(CommandIDs.debugJob, { id: 'j' });
  await vi.waitFor(() => expect(opened).toHaveLength(1));
  await new Promise(then => window.setTimeout(then));
  expect(told).not.toHaveBeenCalled();
  model.view = { on: true, ranks: [] };
  changed.emit();
  await command;
  expect(told.mock.calls.map(([text]) => text)).toEqual([
    'Breakpoints of this notebook stop the job "night" now; Pause stops it where it is.'
  ]);
  // the rank that others wait for, and not the first one
  expect(focus).toHaveBeenCalledWith(1);
  told.mockRestore();
});

/** Debug a failed job whose notebook's tagged cell is `fail_at = -1`. */
async function debugFailed(
  parameters: object,
  notebooks: string[],
  answer: (options: Partial<Dialog.IOptions<unknown>>) => {
    label: string;
    isChecked?: boolean;
  },
  submitted: string | null = null
) {
  const commands = new CommandRegistry();
  const [attached, started] = [vi.fn(), vi.fn(() => 'new')];
  const session = { path: 'a.ipynb', kernel: { id: 'k' } };
  const setSource = vi.fn();
  const copy = {
    cells: [{ cell_type: 'code', metadata: {}, source: submitted }]
  } as unknown as INotebookContent;
  const jobs = {
    executed: async () =>
      submitted === null ? Promise.reject(new Error('none')) : copy
  } as unknown as IJobs;
  const tagged = {
    type: 'code',
    getMetadata: () => ['parameters'],
    sharedModel: { getSource: () => 'fail_at = -1\nepochs = 5', setSource }
  };
  const cells = { length: 1, get: () => tagged };
  const panel = {
    content: { model: { cells } },
    context: { ready: Promise.resolve(), path: 'a.ipynb' },
    sessionContext: { ready: Promise.resolve(), session }
  };
  commands.addCommand('docmanager:open', { execute: () => panel });
  commands.addCommand(CommandIDs.attachNotebook, { execute: attached });
  commands.addCommand(CommandIDs.startCluster, { execute: started });
  const told = vi.spyOn(Notification, 'info').mockReturnValue('');
  const world = { ...makeCluster().world, size: 4 };
  const job = { id: 'j', name: 'night', notebook: 'a.ipynb', ended_at: 5 };
  const one = makeCluster({ id: 'c', name: 'local-2', notebooks });
  vi.mocked(openDialog).mockReset();
  vi.mocked(openDialog).mockImplementation(async options => {
    const { label, isChecked = null } = answer(options);
    const button = options.buttons!.find(each => each.label === label)!;
    return { button, isChecked, value: null };
  });
  addDebugJob(
    {
      app: {
        commands,
        shell: { activateById: () => undefined }
      } as unknown as JupyterFrontEnd,
      clusters: {
        jobs: [{ ...job, error: null, world, parameters }],
        clusters: [one]
      } as unknown as ILiveState,
      tracker: { forEach: () => undefined } as unknown as INotebookTracker,
      debug: {} as IDebugger,
      model: { view: { on: true } } as unknown as DebugModel,
      queue: { idle: async () => {}, query: async () => {} },
      records: new KernelRecords(),
      trans: nullTranslator.load('x'),
      onError: error => expect(error).toBeUndefined()
    },
    jobs,
    NO_ENDS
  );
  await commands.execute(CommandIDs.debugJob, { id: 'j' });
  const says = told.mock.calls.length;
  told.mockRestore();
  return { attached, started, setSource, says };
}

it('offers a failed job the cluster that its notebook would use, and says whose it is', async () => {
  const { attached, started, setSource } = await debugFailed(
    { epochs: 5 },
    ['b.ipynb'],
    ({ body, buttons, checkbox }) => {
      expect(body).toBe(
        'Cells of this notebook would run on local-2 (2 ranks; the job had 4). b.ipynb uses it, too. ' +
          'Use it, or start another: where a rank fails, the debugger shows its variables.'
      );
      expect(buttons!.filter(each => each.accept)).toHaveLength(1);
      expect(checkbox).toBeNull();
      return { label: 'Use local-2' };
    }
  );
  expect(attached).toHaveBeenCalledWith({ id: 'c' });
  expect(started).not.toHaveBeenCalled();
  expect(setSource).not.toHaveBeenCalled();
});

it('starts a cluster for a failed job instead', async () => {
  const { attached, started } = await debugFailed({}, [], () => ({
    label: 'Start a cluster…'
  }));
  expect(started).toHaveBeenCalledTimes(1);
  expect(attached).toHaveBeenCalledWith({ id: 'new' });
});

it('names the parameters with which a failed job ran, and sets them in its notebook', async () => {
  const how = (label: string, isChecked: boolean) =>
    debugFailed({ fail_at: 2, epochs: 5 }, ['a.ipynb'], options => {
      expect(options.body).toBe(
        'The job ran with fail_at = 2; the notebook has other values.'
      );
      expect(options.checkbox?.checked).toBe(true);
      return { label, isChecked };
    });
  const set = await how('Debug', true);
  expect(set.setSource).toHaveBeenCalledWith('fail_at = 2\nepochs = 5');
  expect([set.attached.mock.calls, set.says]).toEqual([[], 1]);
  expect((await how('Debug', false)).setSource).not.toHaveBeenCalled();
  const not = await how('Not now', true);
  expect(not.setSource).not.toHaveBeenCalled();
  expect(not.says).toBe(0);
});

it('asks nothing where the notebook has a cluster, and the values of the job', async () => {
  const { says } = await debugFailed({ epochs: 5 }, ['a.ipynb'], () => {
    throw new Error('a dialog');
  });
  expect(says).toBe(1);
});

it('says that the notebook of a failed job was edited since, and asks nothing else then', async () => {
  const now = 'fail_at = -1\nepochs = 5';
  const debugged = (submitted: string) =>
    debugFailed(
      { epochs: 5 },
      ['a.ipynb'],
      ({ body, buttons }) => {
        expect(body).toBe(
          'The notebook was edited after the job night was submitted: its cells run as they are now.'
        );
        expect(buttons!.map(each => each.label)).toEqual(['Not now', 'Debug']);
        return { label: 'Debug' };
      },
      submitted
    );
  await debugged(now);
  expect(openDialog).not.toHaveBeenCalled();
  const { says } = await debugged(`${now}\nwidth = 8`);
  expect(openDialog).toHaveBeenCalledTimes(1);
  expect(says).toBe(1);
});
