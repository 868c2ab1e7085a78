import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { ApiError } from '../tokens';

/** An error from the server: message and hint. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly body: ApiError
  ) {
    super(`${body.message} ${body.hint}`.trim());
  }
}

/**
 * The one function through which all REST requests go.
 *
 * @param path - below `/dtrain-lab/`
 * @throws RequestError, or ServerConnection.NetworkError without a server
 */
export async function request<T>(
  settings: ServerConnection.ISettings,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown
): Promise<T> {
  const url = URLExt.join(settings.baseUrl, 'dtrain-lab', path);
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
    return (text ? JSON.parse(text) : null) as T;
  }
  throw new RequestError(response.status, readError(response.status, text));
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
