import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { recovered } from './recovered';

const trans = nullTranslator.load('x');
const trouble = {
  name: 'head.watch',
  doing: 'watching',
  kind: 'restarted' as const,
  times: 1,
  message: 'OSError: Stale file handle',
  at: 1
};

it('says that watching restarted, and how often', () => {
  expect(recovered([], trans)).toBe('');
  expect(recovered([trouble], trans)).toBe('Watching restarted once.');
  const often = { ...trouble, times: 3 };
  const answer = {
    ...trouble,
    doing: 'an answer',
    kind: 'failed' as const,
    times: 2
  };
  expect(recovered([often, answer], trans)).toBe(
    'Watching restarted 3 times. An answer failed 2 times.'
  );
});
