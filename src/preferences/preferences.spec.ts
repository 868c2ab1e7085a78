import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { DEFAULT_PREFERENCES, Preferences } from './preferences';

it("has the settings' values, says when they change, and takes none of another type", () => {
  const preferences = new Preferences();
  const told = vi.fn();
  preferences.changed.connect(told);
  const settings = {
    composite: { notifyCells: false, updatesPerSecond: 'often' },
    changed: new Signal<object, void>({})
  };
  preferences.follow(settings as unknown as ISettingRegistry.ISettings);
  const off = { ...DEFAULT_PREFERENCES, notifyCells: false };
  expect(preferences.values).toEqual(off);
  settings.composite = { notifyCells: true, updatesPerSecond: 'often' };
  settings.changed.emit();
  expect(preferences.values).toEqual(DEFAULT_PREFERENCES);
  expect(told).toHaveBeenCalledTimes(2);
});
