import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeCommands } from '../../testing/commands';
import { Job, Sweep } from '../../tokens';
import { entriesOf, entryPassesText } from './entries';
import { JobTable } from './jobTable';

const trans = nullTranslator.load('dtrain_lab');
const AT = new Date(2020, 2, 2, 8, 45).getTime() / 1000;
const job = (name: string, more: Partial<Job> = {}): Job =>
  ({
    id: name,
    name,
    profile: 'local',
    size: { nodes: 1, ranks_per_node: 2 },
    notebook: 'a.ipynb',
    state: 'cancelled',
    summary: { code: 'job_cancelled', values: {}, text: '' },
    created_at: AT,
    started_at: null,
    ended_at: null,
    sweep: null,
    parent: null,
    progress: [],
    may: [],
    ranks: [],
    ...more
  }) as unknown as Job;
const JOBS = [
  job('train'),
  job('tune 3', { sweep: 's' }),
  job('tune 4', { sweep: 's' })
];
const SWEEP = {
  id: 's',
  name: 'tune',
  profile: 'local',
  notebook: 'a.ipynb',
  state: 'succeeded',
  size: { nodes: 1, ranks_per_node: 1 },
  total: 2,
  summary: { values: { done: 2, total: 2, failed: 0 } },
  best: null,
  reason: null,
  created_at: AT,
  ended_at: AT + 9,
  may: []
} as unknown as Sweep;

function table(text: string, jobs = JOBS): HTMLElement {
  const node = document.createElement('div');
  const all = entriesOf(jobs, [SWEEP]);
  node.innerHTML = renderToStaticMarkup(
    <JobTable
      entries={all.filter(e => entryPassesText(e, text, trans))}
      known={jobs}
      text={text}
      now={0}
      commands={makeCommands()}
      trans={trans}
    />
  );
  return node;
}

const namesIn = (node: HTMLElement): (string | null)[] =>
  [...node.querySelectorAll('tbody b')].map(b => b.textContent);

it('says that no job matches, below its headings', () => {
  const node = table('zzz');
  expect(node.textContent).toContain('No job matches this filter.');
  expect(node.querySelectorAll('th')).toHaveLength(4);
  expect(table('train').textContent).not.toContain('No job matches');
});

it('unfolds of a sweep what the filter finds', () => {
  expect(namesIn(table(''))).toEqual(['train', 'tune']);
  expect(namesIn(table('tune'))).toEqual(['tune']);
  expect(namesIn(table('tune 3'))).toEqual(['tune', 'tune 3']);
  // it lists no others meanwhile
  expect(table('tune').querySelectorAll('[aria-expanded]')).toHaveLength(1);
  expect(table('tune 3').querySelectorAll('[aria-expanded]')).toHaveLength(0);
});

it('links the notebook of a job alone to what the job has left', () => {
  const first = job('reg', { id: 'first' });
  const done = {
    state: 'succeeded',
    parent: 'first',
    resumed_step: 40
  } as const;
  const node = table('', [first, job('reg', { ...done, id: 'second' })]);
  const line = node.querySelector('[data-job=second] .jp-DtrainUi-under');
  expect(line?.textContent).toMatch(
    /^Resumed the job of .*8:45.* at step 40 · a\.ipynb$/
  );
  const links = [...(line?.querySelectorAll('button') ?? [])];
  expect(links.map(link => link.textContent)).toEqual(['a.ipynb']);
});

it('says when each was submitted, and how long ago', () => {
  const node = table('');
  const times = [...node.querySelectorAll('time')];
  expect(times).toHaveLength(2);
  for (const time of times) {
    expect(time.textContent).toMatch(/2020.*8:45/);
    expect(time.title).toMatch(/years ago/);
    expect(Date.parse(time.dateTime)).toBe(AT * 1000);
  }
  const sorted = node.querySelector('[aria-sort=descending]');
  expect(sorted?.textContent).toContain('Submitted');
});

it('marks the row of a sweep, which may have the name of jobs', () => {
  const node = table('', [job('tune')]);
  const rows = [...node.querySelectorAll<HTMLElement>('tbody tr')];
  const marks = (row: HTMLElement): number =>
    row.querySelectorAll('.jp-DtrainJob-sweepMark').length;
  expect(rows.map(row => [row.dataset.sweep ?? null, marks(row)])).toEqual(
    expect.arrayContaining([
      ['s', 1],
      [null, 0]
    ])
  );
});
