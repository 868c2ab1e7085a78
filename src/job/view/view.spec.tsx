import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { CommandIDs } from '../../commands';
import { makeCluster, makeRank, makeVerdict } from '../../testing/clusters';
import { makeCommands } from '../../testing/commands';
import { IJobs, ILiveState, Job } from '../../tokens';
import { JobBody } from './view';

vi.mock('../log/log', () => ({ JobLog: () => null }));

it('says where a job is stuck, with links to the cells of its notebook by their position', async () => {
  const where = {
    notebook: 'n.ipynb',
    cell: '[3]',
    line: 9,
    cell_kind: 'cell'
  };
  const standing = { sequence: null, bytes: null };
  const standings = [
    { ...standing, ranks: [1], blamed: true, operation: null, where },
    {
      ...standing,
      ranks: [0],
      blamed: false,
      operation: 'all_reduce',
      where: { ...where, cell: '[2]', line: 4 }
    }
  ];
  const verdict = makeVerdict({ standings } as object);
  const { metrics, world } = makeCluster();
  const job = {
    id: 'j',
    name: 'tune',
    state: 'running',
    notebook: 'n.ipynb',
    notebook_path: 'work/n.ipynb',
    may: ['stacks'],
    ranks: [makeRank(0), makeRank(1, { state: 'stuck' })],
    world,
    size: { nodes: 1, ranks_per_node: 2 },
    metrics: { ...metrics, verdicts: [verdict] },
    summary: { code: 'stuck', values: {}, text: 'Rank 1 is stuck.' },
    parameters: {},
    checkpoint_step: null,
    parent: null,
    sweep: null,
    progress: [],
    error: null,
    reason: null,
    started_at: 1,
    ended_at: null,
    created_at: 1
  } as unknown as Job;
  const live = { jobs: [job] };
  const changed = new Signal<object, void>(live);
  const model = Object.assign(live, { changed }) as unknown as ILiveState;
  const jobs = {
    get: async () => job,
    metrics: async () => ({ history: [] })
  } as unknown as IJobs;
  const went = vi.fn();
  const commands = makeCommands();
  const execute = vi.spyOn(commands, 'execute').mockImplementation(went);
  const host = document.createElement('div');
  const root = createRoot(host);
  root.render(
    <JobBody
      id="j"
      model={model}
      jobs={jobs}
      commands={commands}
      trans={nullTranslator.load('dtrain_lab')}
      openNotebook={vi.fn()}
    />
  );
  await vi.waitFor(() => expect(host.textContent).toContain('line\u00a09'));
  const head = host.querySelector('.jp-DtrainJob-head')!;
  expect(head.textContent!.replace(/\u00a0/g, ' ')).toContain(
    'Rank 1cell [3], line 9Rank 0cell [2], line 4, in all_reduce'
  );
  head.querySelector<HTMLElement>('dd [role=button]')!.click();
  expect(execute).toHaveBeenCalledWith(CommandIDs.goToLocation, {
    notebook: 'work/n.ipynb',
    cell: '[3]',
    line: 9,
    byPosition: true
  });
  root.unmount();
});

it('leads from a job that waits for slots to the slots of its profile', async () => {
  const { metrics, world } = makeCluster();
  const message = 'Waits for 2 of 4 slots; 1 is free.';
  const job = {
    id: 'j',
    name: 'tune',
    profile: 'two hosts',
    state: 'queued',
    notebook: 'n.ipynb',
    notebook_path: 'n.ipynb',
    may: [],
    ranks: [],
    world,
    size: { nodes: 1, ranks_per_node: 2 },
    metrics,
    summary: { code: 'job_queued', values: {}, text: message },
    parameters: {},
    progress: [],
    sweep: null,
    parent: null,
    error: null,
    reason: {
      code: 'slots',
      message,
      hint: 'It starts automatically.',
      ahead: 0,
      expected_start_at: null
    },
    checkpoint_step: null,
    started_at: null,
    ended_at: null,
    created_at: 1
  } as unknown as Job;
  const live = { jobs: [job] };
  const changed = new Signal<object, void>(live);
  const commands = makeCommands();
  const execute = vi.spyOn(commands, 'execute').mockResolvedValue(undefined);
  const host = document.createElement('div');
  const root = createRoot(host);
  root.render(
    <JobBody
      id="j"
      model={Object.assign(live, { changed }) as unknown as ILiveState}
      jobs={
        {
          get: async () => job,
          metrics: async () => ({ history: [] })
        } as unknown as IJobs
      }
      commands={commands}
      trans={nullTranslator.load('dtrain_lab')}
      openNotebook={vi.fn()}
    />
  );
  await vi.waitFor(() =>
    expect(host.textContent).toContain('automatically. Show the slots')
  );
  const links = host.querySelectorAll<HTMLElement>('a, button');
  [...links].find(link => link.textContent === 'Show the slots')!.click();
  expect(execute).toHaveBeenCalledWith(CommandIDs.showJobs, {
    slots: 'two hosts'
  });
  root.unmount();
});
