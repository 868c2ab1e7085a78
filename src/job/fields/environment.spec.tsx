import { nullTranslator } from '@jupyterlab/translation';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { JobPlan } from '../../tokens';
import { tabsOf } from '../form/previewTabs';
import { emptyForm } from '../model/formRequest';
import { Files } from './environment';

it('counts the files that the preview lists as copied', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const trans = nullTranslator.load('x');
  const files = ['code/dtrain_main.py', 'job.sh', 'code/a.ipynb', 'job.json'];
  const plan = {
    files: files.map(path => ({ path, bytes: 1024, text: null })),
    findings: []
  } as unknown as JobPlan;
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  await act(async () =>
    root.render(
      <Files
        form={emptyForm(undefined, '')}
        change={() => undefined}
        plan={plan}
        trans={trans}
      />
    )
  );
  expect(host.textContent).toContain('4 files are copied (4.0\u00a0KiB)');
  const tab = tabsOf(plan, trans).find(({ key }) => key === 'files');
  expect(tab?.text.split('\n')).toHaveLength(4);
  act(() => root.unmount());
  host.remove();
});
