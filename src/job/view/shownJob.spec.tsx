import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { RequestError } from '../../request/rest';
import { IJobs, ILiveState, Job } from '../../tokens';
import { useShownJob } from './shownJob';

const trans = nullTranslator.load('dtrain_lab');
const job = { id: 'j', name: 'tune', state: 'cancelled', ranks: [] } as object;

function Shown(props: { model: ILiveState; jobs: IJobs }): JSX.Element {
  const { job, error } = useShownJob({ id: 'j', ...props, trans });
  return <>{job ? job.state : error}</>;
}

it('says that a job was deleted elsewhere, and shows it no more', async () => {
  const live = { jobs: [job] as Job[] };
  const changed = new Signal<object, void>(live);
  const model = Object.assign(live, { changed }) as unknown as ILiveState;
  let there = true;
  let asked = false;
  const get = async (): Promise<Job> => {
    asked = true;
    if (!there) {
      const message = 'There is no job "j".';
      throw new RequestError(404, {
        code: 'no_such_job',
        message,
        hint: '',
        details: {}
      });
    }
    return job as Job;
  };
  const jobs = { get } as unknown as IJobs;
  const host = document.createElement('div');
  const root = createRoot(host);
  root.render(<Shown model={model} jobs={jobs} />);
  await vi.waitFor(() => expect(host.textContent).toBe('cancelled'));
  // the frames may show it before the server has answered
  await vi.waitFor(() => expect(asked).toBe(true));
  there = false;
  live.jobs = [];
  changed.emit();
  await vi.waitFor(() =>
    expect(host.textContent).toBe('tune has been deleted.')
  );
  root.unmount();
});
