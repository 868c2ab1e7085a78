import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { RequestError } from '../../request/rest';
import { Finding } from '../../tokens';

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

/** The other problems of a refused request. */
export function alsoOf(error: RequestError | null): readonly Finding[] {
  return (error?.body.details.also as Finding[] | undefined) ?? [];
}
