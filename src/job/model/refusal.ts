import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { RequestError } from '../../request/rest';
import { Finding } from '../../tokens';

/** A refusal in words; of a server that can't be reached, too. Anything else is thrown on. */
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

/** What else is wrong with a request that is refused. */
export function alsoOf(error: RequestError | null): readonly Finding[] {
  return (error?.body.details.also as Finding[] | undefined) ?? [];
}
