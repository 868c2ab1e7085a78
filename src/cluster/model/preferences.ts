import { IPreferences, IPreferenceValues } from '../../tokens';

/** Types as in the settings' schema. */
export const DEFAULT_PREFERENCES: IPreferenceValues = {
  updatesPerSecond: 2,
  notifyTrouble: true,
  notifyCells: true,
  notifyCellsAfter: 60
};

/** The user's settings: their defaults until JupyterLab has read them. */
export class Preferences implements IPreferences {
  get values(): IPreferenceValues {
    return this._values;
  }

  configure(values: Partial<IPreferenceValues>): void {
    this._values = { ...this._values, ...values };
  }

  private _values = DEFAULT_PREFERENCES;
}
