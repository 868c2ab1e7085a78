import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { JobPlan } from '../../tokens';
import { foldedText } from './code';
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

it('says of the lines before the first cell what they define', () => {
  const trans = nullTranslator.load('x');
  const head = ['import os', '', 'rank = int(os.environ.get("RANK", 0))'];
  const device = [...head, 'device = torch.device("cpu")'];
  // a helper alone makes no process group
  const helper = [...device, '    own = dist.init_process_group'];
  const whole = [...device, '    torch.distributed.init_process_group("gloo")'];
  expect([head, helper, whole].map(lines => foldedText(lines, trans))).toEqual([
    '3 lines before your first cell: rank and world size',
    '5 lines before your first cell: rank and device',
    '5 lines before your first cell: rank, device and process group'
  ]);
});
