import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';

import { IPreferences } from '../tokens';
import { Preferences } from './preferences';

/**
 * Id of the settings: `schema/panel.json`. JupyterLab saves a user's settings, and an administrator's overrides, under
 * the id of their schema, so this one stays, although the plugin that reads them has another id. It is read also
 * where the panel's plugin is disabled; menus and shortcuts are declared there, too.
 */
export const SETTINGS = 'dtrain-lab:panel';

/** The user's settings. */
export const preferencesPlugin: JupyterFrontEndPlugin<IPreferences> = {
  id: 'dtrain-lab:preferences',
  description: "Provides the user's settings to all views.",
  autoStart: true,
  optional: [ISettingRegistry],
  provides: IPreferences,
  activate: (
    _: JupyterFrontEnd,
    registry: ISettingRegistry | null
  ): IPreferences => {
    const preferences = new Preferences();
    registry?.load(SETTINGS).then(
      settings => preferences.follow(settings),
      (reason: unknown) =>
        console.error('dtrain-lab uses default settings:', reason)
    );
    return preferences;
  }
};
