import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { recovered } from './recovered';

const trans = nullTranslator.load('x');
const trouble = {
  name: 'head.watch',
  doing: 'watching ranks',
  kind: 'restarted' as const,
  times: 1,
  message: 'OSError: Stale file handle',
  at: 1
};

it('says that a background task restarted, and how often', () => {
  expect(recovered([], trans)).toBe('');
  expect(recovered([trouble], trans)).toBe(
    'Background task "watching ranks" restarted once.'
  );
  const often = { ...trouble, times: 3 };
  const answer = {
    ...trouble,
    doing: 'answering a request',
    kind: 'failed' as const,
    times: 2
  };
  expect(recovered([often, answer], trans)).toBe(
    'Background task "watching ranks" restarted 3 times. Background task "answering a request" failed 2 times.'
  );
});
