import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { RequestError } from '../../request/rest';
import { Job } from '../../tokens';
import { withNames } from './refusal';
import { moment } from './texts';

const trans = nullTranslator.load('');

it('names jobs of one name by their submission, not by ids that no list shows', () => {
  const [first, second] = [
    { id: 'a', name: 'reg', created_at: 1_000 },
    { id: 'b', name: 'reg', created_at: 90_000 }
  ] as Job[];
  const refused = new RequestError(409, {
    code: 'checkpoints_used',
    message: 'The folder of reg (a) contains checkpoints of reg (b).',
    hint: 'Delete the jobs that were resumed from it first.',
    details: { jobs: ['b'] }
  });
  const named = (id: string | null, jobs: Job[]): string =>
    (withNames(refused, id, jobs, trans) as RequestError).body.message;
  const [one, two] = [moment(1_000), moment(90_000)];
  expect(named('a', [first, second])).toBe(
    `The folder of reg (${one}) contains checkpoints of reg (${two}).`
  );
  expect(named(null, [first, second])).toBe(
    `The folders of these jobs contain checkpoints of reg (${two}).`
  );
  // of an earlier version: it is not known when
  expect(named('a', [{ ...first, created_at: 0 }, second])).toBe(
    `The folder of reg contains checkpoints of reg (${two}).`
  );
  expect(named('a', [first])).toBe(refused.body.message);
  const other = new Error('lost');
  expect(withNames(other, 'a', [first], trans)).toBe(other);
});
