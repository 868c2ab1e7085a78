import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { ApiError } from '../tokens';
import { RequestError } from './rest';

/** Work that goes on after the answer to its request. */
interface IWork {
  id: string;
  state: 'running' | 'done' | 'failed';
  error: ApiError | null;
}

/** The work of a request, and where its result is. */
export interface ILongWork<Work, Result> {
  /** Settings of the request: what an error asks for, as to sign in, is sent to its server. */
  settings: ServerConnection.ISettings;
  /** Answer to the request: the result, or the work that goes on. */
  answer: Promise<Result | Work>;
  /** Return the current state of the work with an id; the server answers at its end, or after a while. */
  again: (id: string) => Promise<Work>;
  resultOf: (work: Work) => Result | null;
  trans: TranslationBundle;
}

/** HTTP status of the error with which accepted work ended. */
const CONFLICT = 409;

/** Of work that has ended without a result or an error. */
function noResult(trans: TranslationBundle): ApiError {
  return {
    code: 'no_result',
    message: trans.__('The server has no result.'),
    hint: '',
    details: {}
  };
}

/**
 * Request work that may take longer than a request, and wait for its end.
 *
 * @throws RequestError if the request was refused, or the work failed
 */
export async function longWork<Work extends IWork, Result extends object>({
  settings,
  answer,
  again,
  resultOf,
  trans
}: ILongWork<Work, Result>): Promise<Result> {
  const first = await answer;
  if (!isWork(first)) {
    return first;
  }
  let work: Work = first;
  while (work.state === 'running') {
    work = await again(work.id);
  }
  const result = resultOf(work);
  if (result === null) {
    throw new RequestError(CONFLICT, work.error ?? noResult(trans), settings);
  }
  return result;
}

function isWork<Work extends IWork>(answer: object): answer is Work {
  return 'state' in answer && 'id' in answer;
}
