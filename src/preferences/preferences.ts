import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';

import { IPreferences, IPreferenceValues } from '../tokens';

/** Types as in the settings' schema. */
export const DEFAULT_PREFERENCES: IPreferenceValues = {
  updatesPerSecond: 2,
  notifyTrouble: true,
  notifyJobs: true,
  notifyCells: true,
  notifyCellsAfter: 60
};

/** The user's settings: their defaults until JupyterLab has read them. */
export class Preferences implements IPreferences {
  readonly changed = new Signal<this, void>(this);

  get values(): IPreferenceValues {
    return this._values;
  }

  /** Have the values of these settings, now and after each change. */
  follow(
    settings: Pick<ISettingRegistry.ISettings, 'changed' | 'composite'>
  ): void {
    const take = (): void => this.set(readValues(settings.composite));
    settings.changed.connect(take);
    take();
  }

  /** Change some of them. */
  set(values: Partial<IPreferenceValues>): void {
    this._values = { ...this._values, ...values };
    this.changed.emit();
  }

  private _values = DEFAULT_PREFERENCES;
}

/** The values in JupyterLab's settings; defaults for those that are missing, or of another type. */
function readValues(composite: ReadonlyPartialJSONObject): IPreferenceValues {
  const number = (key: 'updatesPerSecond' | 'notifyCellsAfter'): number => {
    const value = composite[key];
    return typeof value === 'number' ? value : DEFAULT_PREFERENCES[key];
  };
  const flag = (
    key: 'notifyTrouble' | 'notifyJobs' | 'notifyCells'
  ): boolean => {
    const value = composite[key];
    return typeof value === 'boolean' ? value : DEFAULT_PREFERENCES[key];
  };
  return {
    updatesPerSecond: number('updatesPerSecond'),
    notifyTrouble: flag('notifyTrouble'),
    notifyJobs: flag('notifyJobs'),
    notifyCells: flag('notifyCells'),
    notifyCellsAfter: number('notifyCellsAfter')
  };
}
