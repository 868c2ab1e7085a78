import { ServerConnection } from '@jupyterlab/services';
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
    this.changed.emit();
  }

  async load(): Promise<void> {
    try {
      const [facts, profiles] = await Promise.all([
        request<Site>(this._settings, 'GET', 'site'),
        request<Profile[]>(this._settings, 'GET', 'profiles')
      ]);
      this._facts = facts;
      this.setProfiles(profiles);
    } catch (error) {
      // the panel shows a missing server; anything else is a bug
      if (!(error instanceof ServerConnection.NetworkError)) {
        throw error;
      }
    }
  }

  private _facts: Site | null = null;
  private _profiles: readonly Profile[] = [];
}
