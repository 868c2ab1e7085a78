import { ServerConnection } from '@jupyterlab/services';
import { JSONExt, ReadonlyJSONValue } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';

import { request } from '../../request/rest';
import { ISite, Profile, Site } from '../../tokens';

/** The profile that the server uses if a request names none; every server has it. */
export const DEFAULT_PROFILE = 'local';

/** Whether a profile comes with dtrain-lab: it has no file that could be edited. */
export function isBuiltIn(profiles: readonly Profile[], name: string): boolean {
  return profiles.some(p => p.name === name && p.file === null);
}

/** The server's machine and profiles, as the server answers. */
export class ServerSite implements ISite {
  readonly changed = new Signal<this, void>(this);

  constructor(private _settings: ServerConnection.ISettings) {}

  get facts(): Site | null {
    return this._facts;
  }

  get profiles(): readonly Profile[] {
    return this._profiles;
  }

  setProfiles(profiles: readonly Profile[]): void {
    this._profiles = profiles;
    this._changes += 1;
    this.changed.emit();
  }

  readProfiles(): Promise<void> {
    // their folder may be on a network that hangs
    return (this._reading ??= this._read().finally(() => {
      this._reading = null;
    }));
  }

  async load(): Promise<void> {
    try {
      const [facts, profiles] = await Promise.all([
        request(this._settings, 'GET', '/site'),
        request(this._settings, 'GET', '/profiles')
      ]);
      this._facts = facts;
      this.setProfiles(profiles);
    } catch (error) {
      passNetwork(error);
    }
  }

  private async _read(): Promise<void> {
    const before = this._changes;
    try {
      const profiles = await request(this._settings, 'GET', '/profiles');
      // what was written meanwhile is newer
      if (
        before === this._changes &&
        !JSONExt.deepEqual(asJson(profiles), asJson(this._profiles))
      ) {
        this.setProfiles(profiles);
      }
    } catch (error) {
      passNetwork(error);
    }
  }

  private _reading: Promise<void> | null = null;
  /** Number of times that profiles were set. */
  private _changes = 0;
  private _facts: Site | null = null;
  private _profiles: readonly Profile[] = [];
}

function asJson(profiles: readonly Profile[]): ReadonlyJSONValue {
  return profiles as unknown as ReadonlyJSONValue;
}

/** The panel shows a missing server; anything else is a bug. */
function passNetwork(error: unknown): void {
  if (!(error instanceof ServerConnection.NetworkError)) {
    throw error;
  }
}
