import { Poll } from '@lumino/polling';

import { RequestError } from '../../request/rest';
import { Sweep } from '../../tokens';

/** Polling interval while a sweep is being stopped, ms. */
const LOOK_MS = 1000;

/** Sweeps that were stopped in this page, until they have ended: whoever shows one learns its end at the same time. */
export class Stopping {
  /**
   * @param _ask - requests a sweep, and passes its answer to `take`
   */
  constructor(private _ask: (id: string) => Promise<Sweep>) {}

  get sweeps(): readonly Sweep[] {
    return [...this._sweeps.values()];
  }

  /** Take an answer of the server about sweeps; `begins` if one was stopped just now. */
  take(sweeps: readonly Sweep[], begins = false): void {
    for (const sweep of sweeps) {
      if (sweep.state !== 'stopping') {
        this._sweeps.delete(sweep.id);
      } else if (begins || this._sweeps.has(sweep.id)) {
        this._sweeps.set(sweep.id, sweep);
      }
    }
    if (this._sweeps.size) {
      this._poll ??= this._made();
    }
  }

  /** A sweep that is there no longer. */
  forget(id: string): void {
    this._sweeps.delete(id);
  }

  private _made(): Poll {
    const poll = new Poll({
      name: 'dtrain-lab:stopping sweeps',
      frequency: { interval: LOOK_MS, backoff: true, max: 5 * LOOK_MS },
      standby: 'when-hidden',
      factory: async () => {
        await Promise.all([...this._sweeps.keys()].map(id => this._look(id)));
        if (!this._sweeps.size) {
          this._poll = null;
          poll.dispose();
        }
      }
    });
    return poll;
  }

  private async _look(id: string): Promise<void> {
    try {
      await this._ask(id);
    } catch (error) {
      if (!(error instanceof RequestError && error.status === 404)) {
        throw error; // it is asked again later
      }
      this.forget(id);
    }
  }

  private _sweeps = new Map<string, Sweep>();
  private _poll: Poll | null = null;
}
