import { expect, it, vi } from 'vitest';

import { NotebookRuns } from './notebookRuns';

it('asks for nothing more once it is disposed', () => {
  const ready = { then: vi.fn() };
  const runs = Object.assign(Object.create(NotebookRuns.prototype), {
    _isDisposed: true,
    _panel: { content: { widgets: [] }, context: { isReady: true, ready } }
  });
  void runs._sync();
  expect(ready.then).not.toHaveBeenCalled();
});
