import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { JobPlan } from '../../tokens';
import { beforeCells, tabsOf } from './previewTabs';

it('knows where the first cell of a script begins', () => {
  expect(
    beforeCells('# %% preamble\nimport os\n\n# %% cell [1] a\nx = 1')
  ).toBe(3);
  expect(beforeCells('')).toBe(0);
});

it('wraps the command, which is one long line, and no code', () => {
  const plan = { files: [], findings: [], submit: 'dtrain-lab submit a.ipynb' };
  const tabs = tabsOf(plan as unknown as JobPlan, nullTranslator.load('x'));
  expect(tabs.filter(tab => tab.wraps).map(tab => tab.key)).toEqual([
    'command'
  ]);
});
