import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { longWork } from '../../request/longWork';
import { request, RequestError } from '../../request/rest';
import {
  ApiError,
  CellRecord,
  Cluster,
  Diagnosis,
  Measurement,
  Tried,
  IClusterActions,
  Output,
  StartRequest
} from '../../tokens';

/** HTTP status of what is not there. */
const NOT_FOUND = 404;
/** Number of outputs per request. */
const PIECE = 5000;
/** Number of cells that are searched first for the last output of a rank. */
const MOST_CELLS = 5;

/** Actions on clusters, each a request to the server. */
export class ClusterRequests implements IClusterActions {
  /**
   * @param _begun - called with a cluster that was just requested.
   */
  constructor(
    private _settings: ServerConnection.ISettings,
    private _trans: TranslationBundle,
    private _begun: (cluster: Cluster) => void
  ) {}

  async start(body: Partial<StartRequest>): Promise<Cluster> {
    const cluster = await request(this._settings, 'POST', '/clusters', {
      body
    });
    this._begun(cluster);
    return cluster;
  }

  async stop(id: string): Promise<void> {
    await request(this._settings, 'DELETE', '/clusters/{identity}', { id });
  }

  async interrupt(id: string): Promise<void> {
    const path = '/clusters/{identity}/interrupt';
    await request(this._settings, 'POST', path, { id, body: {} });
  }

  async restart(
    id: string,
    ranks: number[] | null,
    source: number | null = null
  ): Promise<void> {
    const path = '/clusters/{identity}/restart';
    const body = { ranks, source };
    await request(this._settings, 'POST', path, { id, body });
  }

  async leaveOut(id: string, ranks: number[]): Promise<void> {
    const path = '/clusters/{identity}/leave-out';
    await request(this._settings, 'POST', path, { id, body: { ranks } });
  }

  async lastOutput(
    id: string,
    ranks: readonly number[]
  ): Promise<readonly Output[]> {
    const firsts = (await this.cells(id))
      .filter(cell => cell.ranks.some(r => ranks.includes(r)))
      .map(cell => cell.first_seq)
      .sort((a, b) => b - a);
    let outputs: readonly Output[] = [];
    // a rank that printed nothing in its last cell printed in an earlier one
    for (const first of [...firsts.slice(0, MOST_CELLS), 0]) {
      outputs = await this._outputFrom(id, first);
      const has = (rank: number): boolean =>
        outputs.some(o => o.text !== null && o.ranks.includes(rank));
      if (outputs.length === PIECE || ranks.every(has)) {
        break;
      }
    }
    return outputs;
  }

  /** Output from a number on; only the end if it is very long. */
  private async _outputFrom(
    id: string,
    first: number
  ): Promise<readonly Output[]> {
    let after = first - 1;
    let last: Output[] = [];
    for (;;) {
      const query = { after, most: PIECE };
      const path = '/clusters/{identity}/output';
      const more: Output[] = await request(this._settings, 'GET', path, {
        id,
        query
      });
      last = [...last, ...more].slice(-PIECE);
      if (more.length < PIECE) {
        return last;
      }
      after = more[more.length - 1].seq;
    }
  }

  async resize(id: string, ranks: number): Promise<void> {
    const path = '/clusters/{identity}/resize';
    await request(this._settings, 'POST', path, { id, body: { ranks } });
  }

  async diagnose(id: string): Promise<Diagnosis> {
    return longWork<Measurement, Diagnosis>({
      settings: this._settings,
      answer: request(this._settings, 'POST', '/clusters/{identity}/diagnose', {
        id
      }),
      again: work => this._measurement(id, work),
      resultOf: work => work.diagnosis,
      trans: this._trans
    });
  }

  async tryAdvice(id: string, advice: string): Promise<Tried> {
    return longWork<Measurement, Tried>({
      settings: this._settings,
      answer: request(this._settings, 'POST', '/clusters/{identity}/advise', {
        id,
        body: { advice }
      }),
      again: work => this._measurement(id, work),
      resultOf: work => work.tried,
      trans: this._trans
    });
  }

  /** State of a measurement, when one of the cluster's has ended or after a while. */
  private async _measurement(id: string, work: string): Promise<Measurement> {
    const all = await request(
      this._settings,
      'GET',
      '/clusters/{identity}/measurements',
      { id, query: { wait: '1' } }
    );
    const found = all.find(each => each.id === work);
    if (!found) {
      // another page has begun the same again since
      const { _settings, _trans } = this;
      const gone: ApiError = {
        code: 'measurement_gone',
        message: _trans.__('The result of this measurement is gone.'),
        hint: _trans.__(
          'The same has been measured again since, as from another page. Measure again to see a result here.'
        ),
        details: { id: work }
      };
      throw new RequestError(NOT_FOUND, gone, _settings);
    }
    return found;
  }

  exportUrl(id: string, format: 'csv' | 'json' | 'tensorboard'): string {
    const { baseUrl, token, appendToken } = this._settings;
    const path = `dtrain-lab/clusters/${id}/history`;
    const query = appendToken && token ? { format, token } : { format };
    return (
      URLExt.join(baseUrl, path) +
      URLExt.objectToQueryString(query as Record<string, string>)
    );
  }

  async cells(id: string): Promise<readonly CellRecord[]> {
    const path = '/clusters/{identity}/cells';
    return request(this._settings, 'GET', path, { id });
  }
}
