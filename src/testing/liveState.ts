import { ServerConnection } from '@jupyterlab/services';

import { Store } from '../cluster/model/ignoredVerdicts';
import { LiveState } from '../cluster/model/liveState';
import { ServerSite } from '../cluster/model/site';
import { Preferences } from '../preferences/preferences';
import { IPreferences, ISite } from '../tokens';

interface IParts {
  settings: ServerConnection.ISettings;
  preferences: IPreferences;
  site: ISite;
  store: Store | null;
}

/** Live state without a server, or with parts of the test's own. */
export function makeLiveState(parts: Partial<IParts> = {}): LiveState {
  const settings = parts.settings ?? ServerConnection.makeSettings();
  return new LiveState(
    settings,
    parts.preferences ?? new Preferences(),
    parts.site ?? new ServerSite(settings),
    parts.store ?? null
  );
}
