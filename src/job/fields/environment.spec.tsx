import { nullTranslator } from '@jupyterlab/translation';
import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { JobPlan } from '../../tokens';
import { tabsOf } from '../preview/previewTabs';
import { emptyForm } from '../model/formRequest';
import { Files } from './environment';

it.each([
  [[], true, 'no other file to copy. Other notebooks, checkpoints'],
  [
    [],
    false,
    'Only the notebook is copied, without the files beside it: tick this box'
  ],
  [
    ['code/data/a.json', 'code/b.py'],
    true,
    '2 files beside the notebook (2.0\u00a0KiB) are copied with it. Other notebooks are not'
  ]
])(
  'counts the copied files of the user, here %j',
  async (theirs, wanted, said) => {
    vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
    const trans = nullTranslator.load('x');
    const own = ['code/dtrain_main.py', 'job.sh', 'code/a.ipynb', 'job.json'];
    const files = [...own, ...theirs];
    const plan = {
      files: files.map(path => ({ path, bytes: 1024, text: null })),
      findings: []
    } as unknown as JobPlan;
    const host = document.body.appendChild(document.createElement('div'));
    const root = createRoot(host);
    await act(async () =>
      root.render(
        <Files
          form={{ ...emptyForm(undefined, ''), files: wanted }}
          change={() => undefined}
          plan={plan}
          trans={trans}
        />
      )
    );
    expect(host.textContent).toContain(said);
    const tab = tabsOf(plan, trans).find(({ key }) => key === 'files');
    const lines = tab!.text.split('\n');
    expect(lines).toHaveLength(files.length);
    expect(lines.every(line => line.includes('1.0\u00a0KiB'))).toBe(true);
    // what isn't the user's says what it is
    const explained = lines.filter(line =>
      /(the notebook|starts|what is)/.test(line)
    );
    expect(explained).toHaveLength(own.length);
    expect(tab!.numbered).toBe(false);
    act(() => root.unmount());
    host.remove();
  }
);
