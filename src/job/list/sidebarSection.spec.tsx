import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { ILiveState, Job } from '../../tokens';
import { moment } from '../model/texts';
import { JobSection } from './sidebarSection';

it('shows when jobs have ended, and in the tooltip also when they were submitted', () => {
  // the first of them ended last
  const jobs = [2, 1].map(
    n =>
      ({
        id: `j${n}`,
        name: 'reg',
        notebook: 'reg.ipynb',
        notebook_path: 'reg.ipynb',
        state: 'succeeded',
        summary: { code: 'job_succeeded', values: {}, text: 'Done.' },
        created_at: n * 60_000,
        started_at: n * 60_000,
        ended_at: 1_000_000 - n * 60_000,
        sweep: null,
        may: [],
        progress: [],
        ranks: []
      }) as unknown as Job
  );
  const host = document.createElement('div');
  host.innerHTML = renderToStaticMarkup(
    <JobSection
      model={{ jobs, sweeps: {}, lastFrameAt: 0 } as unknown as ILiveState}
      sweeps={null}
      commands={new CommandRegistry()}
      trans={nullTranslator.load('')}
    />
  );
  const times = [...host.querySelectorAll('.jp-DtrainJob-itemTime')];
  expect(times.map(t => t.textContent)).toEqual([
    moment(1_000_000 - 120_000),
    moment(1_000_000 - 60_000)
  ]);
  expect(times[0].getAttribute('title')).toBe(
    `Ended ${moment(880_000)}, submitted ${moment(120_000)}`
  );
  // as their tabs do
  const line = host.querySelector('.jp-DtrainUi-under');
  expect(line?.textContent).toContain(`Submitted ${moment(120_000)} · `);
});
