import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { paths } from '../api/types';
import { ApiError } from '../tokens';

/** An error from the server: message and hint. */
export class RequestError extends Error {
  /**
   * @param settings - those of the request; null if no server has answered
   */
  constructor(
    readonly status: number,
    readonly body: ApiError,
    readonly settings: ServerConnection.ISettings | null = null
  ) {
    super(`${body.message} ${body.hint}`.trim());
  }
}

type Verb = 'get' | 'post' | 'put' | 'delete';

/** Methods of a path. */
export type Method<P extends keyof paths> = {
  [V in Verb]: paths[P] extends Record<V, { responses: unknown }>
    ? Uppercase<V>
    : never;
}[Verb];

/** What the schema says of a method of a path. */
type Operation<P extends keyof paths, M extends string> =
  Lowercase<M> extends keyof paths[P] ? paths[P][Lowercase<M>] : never;

/** JSON of a request or an answer; unknown where the schema only says that it is an object. */
type Json<T> = T extends { content: { 'application/json': infer J } }
  ? [J] extends [Record<string, never>]
    ? unknown
    : J
  : never;

/** The answer to a request. */
export type Answer<P extends keyof paths, M extends string> =
  Operation<P, M> extends { responses: infer R }
    ? Json<R[keyof R & (200 | 202)]>
    : never;

/** The body of a request; what has a default may be left out. */
type Body<P extends keyof paths, M extends string> =
  Operation<P, M> extends { requestBody?: infer B }
    ? Partial<Json<NonNullable<B>>>
    : never;

type Query<P extends keyof paths, M extends string> =
  Operation<P, M> extends { parameters: { query?: infer Q } } ? Q : never;

interface IOptions<P extends keyof paths, M extends string> {
  query?: Query<P, M>;
  body?: Body<P, M>;
}

/** The rest of a request; what its path names by `{identity}` has to be given. */
type Options<
  P extends keyof paths,
  M extends string
> = P extends `${string}{identity}${string}`
  ? [options: IOptions<P, M> & { id: string }]
  : [options?: IOptions<P, M>];

/**
 * The one function through which all REST requests go, typed by the server's schema.
 *
 * @param path - below `/dtrain-lab`
 * @throws RequestError, or ServerConnection.NetworkError without a server
 */
export async function request<P extends keyof paths, M extends Method<P>>(
  settings: ServerConnection.ISettings,
  method: M,
  path: P,
  ...[options]: Options<P, M>
): Promise<Answer<P, M>> {
  const { id, query, body } = (options ?? {}) as {
    id?: string;
    query?: Readonly<Record<string, string | number | undefined>>;
    body?: unknown;
  };
  const below = path.replace('{identity}', encodeURIComponent(id ?? ''));
  const url =
    URLExt.join(settings.baseUrl, 'dtrain-lab', below) + queryText(query ?? {});
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
  }
  const response = await ServerConnection.makeRequest(url, init, settings);
  // a connection that ends within an answer is no other error than one that ends before it
  const text = await response.text().catch((error: TypeError) => {
    throw new ServerConnection.NetworkError(error);
  });
  if (response.ok) {
    return (text ? JSON.parse(text) : null) as Answer<P, M>;
  }
  const { status } = response;
  throw new RequestError(status, readError(status, text), settings);
}

/** A query as text; values that are undefined are left out. */
function queryText(
  query: Readonly<Record<string, string | number | undefined>>
): string {
  const given = Object.entries(query).filter(([, v]) => v !== undefined);
  const text = new URLSearchParams(
    given.map(([key, value]) => [key, String(value)])
  ).toString();
  return text && `?${text}`;
}

function readError(status: number, text: string): ApiError {
  try {
    const error = JSON.parse(text);
    return {
      code: error.code ?? `http_${status}`,
      message: error.message || error.reason || `HTTP ${status}`,
      hint: error.hint ?? '',
      details: error.details ?? {}
    };
  } catch {
    // not our JSON, but for example a proxy's page
    return {
      code: `http_${status}`,
      message: `HTTP ${status}`,
      hint: '',
      details: {}
    };
  }
}
