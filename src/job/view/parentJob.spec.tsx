import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { RequestError } from '../../request/rest';
import { IJobs, Job } from '../../tokens';
import { useParentJob } from './parentJob';

const trans = nullTranslator.load('dtrain_lab');
const parent = { id: 'j1', name: 'tune' } as Job;

function Shown(props: { listed: readonly Job[]; jobs: IJobs }): JSX.Element {
  const { job, isDeleted } = useParentJob(
    'j1',
    props.listed,
    props.jobs,
    trans
  );
  return <>{isDeleted ? 'deleted' : (job?.name ?? 'unknown')}</>;
}

it('knows an old parent that no frame contains, and one that was deleted', async () => {
  const answers: (() => Job)[] = [
    () => parent,
    () => {
      const code = 'no_such_job';
      const message = 'There is no job "j1".';
      throw new RequestError(404, { code, message, hint: '', details: {} });
    }
  ];
  const get = vi.fn(async () => answers.shift()!());
  const jobs = { get } as unknown as IJobs;
  const host = document.createElement('div');
  const draw = (listed: readonly Job[]): void =>
    root.render(<Shown listed={listed} jobs={jobs} />);
  const root = createRoot(host);
  draw([]);
  await vi.waitFor(() => expect(host.textContent).toBe('tune'));
  draw([{ ...parent, name: 'tune, in a frame' }]);
  await vi.waitFor(() => expect(host.textContent).toBe('tune, in a frame'));
  draw([]);
  await vi.waitFor(() => expect(host.textContent).toBe('deleted'));
  expect(get).toHaveBeenCalledTimes(2);
  root.unmount();
});
