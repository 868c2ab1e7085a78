import { expect, it } from 'vitest';

import { beforeCells } from './previewTabs';

it('knows where the first cell of a script begins', () => {
  expect(
    beforeCells('# %% preamble\nimport os\n\n# %% cell [1] a\nx = 1')
  ).toBe(3);
  expect(beforeCells('')).toBe(0);
});
