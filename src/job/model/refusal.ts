import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { RequestError } from '../../request/rest';
import { listed } from '../../metrics/format';
import { Finding, Job } from '../../tokens';
import { timedJob } from './texts';

/** Message of a refusal, or of an unreachable server. Other errors are rethrown. */
export function refusalOf(
  failure: unknown,
  trans: TranslationBundle
): RequestError {
  if (failure instanceof RequestError) {
    return failure;
  }
  if (failure instanceof ServerConnection.NetworkError) {
    return new RequestError(0, {
      code: 'no_server',
      message: trans.__('No connection to the server.'),
      hint: trans.__('The request is repeated once the server is back.'),
      details: {}
    });
  }
  throw failure;
}

/**
 * The refusal to delete a job or a sweep whose checkpoints other jobs use, with these jobs named as in the lists;
 * any other error as it is.
 *
 * @param id - that of the job that was to be deleted; null for the jobs of a sweep
 */
export function withNames(
  failure: unknown,
  id: string | null,
  jobs: readonly Job[],
  trans: TranslationBundle
): unknown {
  if (
    !(failure instanceof RequestError) ||
    failure.body.code !== 'checkpoints_used'
  ) {
    return failure;
  }
  const users = (failure.body.details.jobs ?? []) as string[];
  const found = [...(id ? [id] : []), ...users].map(identity =>
    jobs.find(job => job.id === identity)
  );
  const known = found.filter((job): job is Job => job !== undefined);
  if (!users.length || known.length < found.length) {
    return failure; // one that the list lacks is named by its id
  }
  const names = known.map(job => timedJob(job, trans));
  const message = id
    ? trans.__(
        'The folder of %1 contains checkpoints of %2.',
        names[0],
        listed(names.slice(1), trans)
      )
    : trans.__(
        'The folders of these jobs contain checkpoints of %1.',
        listed(names, trans)
      );
  return new RequestError(
    failure.status,
    { ...failure.body, message },
    failure.settings
  );
}

/** The other problems of a refused request. */
export function alsoOf(error: RequestError | null): readonly Finding[] {
  return (error?.body.details.also as Finding[] | undefined) ?? [];
}
