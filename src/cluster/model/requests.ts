import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { request } from '../../request/rest';
import {
  CellRecord,
  Cluster,
  Diagnosis,
  Tried,
  IClusterActions,
  Output,
  StartRequest
} from '../../tokens';

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
    private _begun: (cluster: Cluster) => void
  ) {}

  async start(body: Partial<StartRequest>): Promise<Cluster> {
    const cluster = await request<Cluster>(
      this._settings,
      'POST',
      'clusters',
      body
    );
    this._begun(cluster);
    return cluster;
  }

  async stop(id: string): Promise<void> {
    await request(this._settings, 'DELETE', `clusters/${id}`);
  }

  async interrupt(id: string): Promise<void> {
    await request(this._settings, 'POST', `clusters/${id}/interrupt`, {});
  }

  async restart(
    id: string,
    ranks: number[] | null,
    source: number | null = null
  ): Promise<void> {
    const path = `clusters/${id}/restart`;
    await request(this._settings, 'POST', path, { ranks, source });
  }

  async leaveOut(id: string, ranks: number[]): Promise<void> {
    const path = `clusters/${id}/leave-out`;
    await request(this._settings, 'POST', path, { ranks });
  }

  async lastOutput(
    id: string,
    ranks: readonly number[]
  ): Promise<readonly Output[]> {
    const firsts = (await this.cells(id))
      .filter(cell => cell.ranks.some(r => ranks.includes(r)))
      .map(cell => cell.first_seq)
      .sort((a, b) => b - a);
    let found: readonly Output[] = [];
    // a rank that printed nothing in its last cell printed in an earlier one
    for (const first of [...firsts.slice(0, MOST_CELLS), 0]) {
      found = await this._outputFrom(id, first);
      const has = (rank: number): boolean =>
        found.some(o => o.text !== null && o.ranks.includes(rank));
      if (found.length === PIECE || ranks.every(has)) {
        break;
      }
    }
    return found;
  }

  /** Output from a number on; only the end if it is very long. */
  private async _outputFrom(
    id: string,
    first: number
  ): Promise<readonly Output[]> {
    let after = first - 1;
    let last: Output[] = [];
    for (;;) {
      const query = `after=${after}&most=${PIECE}`;
      const more: Output[] = await request(
        this._settings,
        'GET',
        `clusters/${id}/output?${query}`
      );
      last = [...last, ...more].slice(-PIECE);
      if (more.length < PIECE) {
        return last;
      }
      after = more[more.length - 1].seq;
    }
  }

  async resize(id: string, ranks: number): Promise<void> {
    await request(this._settings, 'POST', `clusters/${id}/resize`, { ranks });
  }

  async diagnose(id: string): Promise<Diagnosis> {
    return request(this._settings, 'POST', `clusters/${id}/diagnose`, {});
  }

  async tryAdvice(id: string, advice: string): Promise<Tried> {
    return request(this._settings, 'POST', `clusters/${id}/advise`, { advice });
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
    return request(this._settings, 'GET', `clusters/${id}/cells`);
  }
}
