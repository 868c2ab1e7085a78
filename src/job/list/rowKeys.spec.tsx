// alone: attaches a whole view to the document
import { nullTranslator } from '@jupyterlab/translation';
import { ServerConnection } from '@jupyterlab/services';
import { DisposableDelegate } from '@lumino/disposable';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { afterEach, expect, it, vi } from 'vitest';

import { CommandIDs } from '../../commands';
import { ServerSite } from '../../cluster/model/site';
import { makeFrame } from '../../testing/clusters';
import { makeCommands } from '../../testing/commands';
import { makeLiveState } from '../../testing/liveState';
import { IJobs, Job } from '../../tokens';
import { JobsView } from '../widgets';

const job = (name: string, at: number, more: Partial<Job> = {}): Job =>
  ({
    id: name,
    name,
    profile: 'local',
    size: { nodes: 1, ranks_per_node: 1 },
    notebook: 'train.ipynb',
    notebook_path: 'train.ipynb',
    state: 'succeeded',
    summary: { code: '', values: {}, text: '' },
    metrics: { verdicts: [] },
    created_at: at,
    started_at: at,
    ended_at: at + 9,
    sweep: null,
    parent: null,
    progress: [],
    ranks: [],
    may: ['delete'],
    ...more
  }) as unknown as Job;

const JOBS = [
  job('tiny3', 3),
  job('tiny2', 2, { state: 'failed', may: [] }),
  job('other', 1)
];

let view: JobsView;
afterEach(() => view.dispose());

/** The list of jobs on the page; `ran` has the commands that were run. */
async function show(notebook: string | null = null): Promise<{
  ran: [string, unknown][];
  receive(jobs: Job[]): void;
}> {
  const ran: [string, unknown][] = [];
  const model = makeLiveState();
  model.watch = () => new DisposableDelegate(() => undefined);
  view = new JobsView({
    model,
    site: new ServerSite(ServerConnection.makeSettings()),
    jobs: {
      lastAnswer: [],
      all: async () => []
    } as unknown as IJobs,
    sweeps: null,
    chosen: () => notebook,
    commands: makeCommands((...run) => void ran.push(run)),
    trans: nullTranslator.load('x')
  });
  Widget.attach(view, document.body);
  MessageLoop.flush();
  const receive = (jobs: Job[]): void =>
    model.receive({ ...makeFrame([]), jobs });
  receive(JOBS);
  await vi.waitFor(() => expect(names()).toHaveLength(3));
  return { ran, receive };
}

const names = (): HTMLElement[] => [
  ...view.node.querySelectorAll<HTMLElement>('.jp-DtrainUi-name')
];

function press(key: string): void {
  document.activeElement!.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
  );
}

const focused = (): string => document.activeElement?.textContent ?? '';

it('moves between jobs with the arrow keys, and asks with Delete to delete one', async () => {
  const { ran } = await show();
  names()[0].focus();
  press('Delete');
  press('ArrowDown');
  expect(focused()).toBe('tiny2');
  press('Delete'); // this one can't be deleted
  press('End');
  expect(focused()).toBe('other');
  press('Delete');
  expect(ran).toEqual([
    [CommandIDs.deleteJob, { id: 'tiny3', name: 'tiny3' }],
    [CommandIDs.deleteJob, { id: 'other', name: 'other' }]
  ]);
});

it('focuses the next job once the focused one is deleted', async () => {
  const { receive } = await show();
  names()[0].focus();
  receive(JOBS.slice(1));
  await vi.waitFor(() => expect(focused()).toBe('tiny2'));
});

it('focuses the next job once one is deleted by its menu', async () => {
  const { receive } = await show();
  names()[2].dispatchEvent(new MouseEvent('contextmenu', { bubbles: true }));
  // the menu closes, as it does where an item is chosen
  const menu = (): Element | null =>
    document.activeElement!.closest('.lm-Menu');
  await vi.waitFor(() => expect(menu()).not.toBeNull());
  (document.activeElement as HTMLElement).blur();
  receive(JOBS.slice(0, 2));
  await vi.waitFor(() => expect(focused()).toBe('tiny2'));
});

it('leaves the focus where the user has moved it meanwhile', async () => {
  const { receive } = await show();
  names()[0].focus();
  const field = view.node.querySelector('input')!;
  field.focus();
  receive(JOBS.slice(1));
  await vi.waitFor(() => expect(names()).toHaveLength(2));
  expect(document.activeElement).toBe(field);
});

it('counts by state what the text leaves', async () => {
  await show();
  const field = view.node.querySelector('input')!;
  const set = Object.getOwnPropertyDescriptor(
    HTMLInputElement.prototype,
    'value'
  )!.set!;
  set.call(field, 'tiny');
  field.dispatchEvent(new Event('input', { bubbles: true }));
  const chips = (): (string | null)[] =>
    [...view.node.querySelectorAll('.jp-DtrainUi-chip')].map(
      chip => chip.textContent
    );
  await vi.waitFor(() =>
    expect(chips()).toEqual(['All 2', 'Active 0', 'Failed 1', 'Done 1'])
  );
});

it('opens the executed notebook of a job that is done by its second line', async () => {
  const { ran } = await show();
  const links = [
    ...view.node.querySelectorAll<HTMLElement>('tbody .jp-DtrainUi-link')
  ];
  expect(links.map(link => link.textContent)).toEqual([
    'train.ipynb',
    'train.ipynb'
  ]);
  links[0].click();
  expect(ran).toEqual([
    [CommandIDs.openExecuted, { id: 'tiny3', name: 'tiny3' }]
  ]);
});

it('opens the job of a row by a click anywhere in the row but at its links', async () => {
  const { ran } = await show();
  const row = view.node.querySelector<HTMLElement>('[data-job=tiny3]')!;
  row.querySelector<HTMLElement>('td:last-child')!.click();
  expect(ran).toEqual([[CommandIDs.openJob, { id: 'tiny3', name: 'tiny3' }]]);
  row.querySelector<HTMLElement>('.jp-DtrainUi-link')!.click();
  names()[0].click();
  expect(ran.slice(1).map(([id]) => id)).toEqual([
    CommandIDs.openExecuted,
    CommandIDs.openJob
  ]);
  // a drag that selects its text ends with a click
  document.getSelection()!.selectAllChildren(row);
  row.querySelector<HTMLElement>('td:last-child')!.click();
  expect(ran).toHaveLength(3);
  document.getSelection()!.removeAllRanges();
});

it('says why what a job has left is not submitted', async () => {
  await show('dtrain-jobs:3b62/train (train).ipynb');
  const submit = view.node.querySelector('.jp-DtrainJob-listHead button')!;
  expect(submit.getAttribute('aria-disabled')).toBe('true');
  expect(submit.getAttribute('title')).toMatch(/^A job wrote this notebook/);
});
