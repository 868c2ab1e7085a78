import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { ILiveState } from '../tokens';
import { JobsPast, latestDataAt } from './lastUpdate';

const trans = nullTranslator.load('dtrain_lab');
const seen = new Date('2026-01-02T03:04:05');
const model = (link: string): ILiveState =>
  ({ link, lastFrameAt: seen }) as unknown as ILiveState;

it('knows nothing of later than the last word of a server that is away', () => {
  expect(latestDataAt(model('lost'))).toBe(seen.getTime());
  expect(latestDataAt(model('live'))).toBeGreaterThan(seen.getTime());
});

it('says from when jobs are, only without a server', async () => {
  const host = document.createElement('div');
  document.body.append(host);
  const root = createRoot(host);
  root.render(<JobsPast model={model('lost')} trans={trans} />);
  await vi.waitFor(() =>
    expect(host.textContent).toMatch(/^No connection to the server\. .*3:04:05/)
  );
  root.render(<JobsPast model={model('live')} trans={trans} />);
  await vi.waitFor(() => expect(host.textContent).toBe(''));
  root.unmount();
  host.remove();
});
