import { DefaultSchemaValidator } from '@jupyterlab/settingregistry';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

import { DEFAULT_PREFERENCES } from './preferences';

interface ISchema {
  title: string;
  properties: Record<
    string,
    { type: string; title?: string; default: unknown }
  >;
}

it('has settings of kinds whose titles JupyterLab shows, and their defaults', () => {
  const { properties } = JSON.parse(
    readFileSync('schema/panel.json', 'utf-8')
  ) as ISchema;
  for (const { type, title } of Object.values(properties)) {
    expect(title).toBeTruthy();
    // a list of choices is drawn without its title
    expect(['number', 'boolean']).toContain(type);
  }
  expect(
    Object.fromEntries(
      Object.entries(properties).map(([key, known]) => [key, known.default])
    )
  ).toEqual(DEFAULT_PREFERENCES);
});

it('is found in the settings editor by the name of the package', () => {
  // its search looks at titles, and at the descriptions of single settings
  const schema = JSON.parse(
    readFileSync('schema/panel.json', 'utf-8')
  ) as ISchema;
  expect(schema.title.toLowerCase()).toContain('dtrain');
});

it('keeps the others where one is of another version', () => {
  const id = 'dtrain-lab:panel';
  const schema = JSON.parse(readFileSync('schema/panel.json', 'utf-8'));
  const read = (raw: string): { errors: unknown; composite: unknown } => {
    const none = { composite: {}, user: {} };
    const plugin = { id, data: none, raw, schema, version: '1' };
    const errors = new DefaultSchemaValidator().validateData(plugin);
    return { errors, composite: plugin.data.composite };
  };
  const known = { ...DEFAULT_PREFERENCES, notifyCells: false };
  expect(read('{"slowFrom": 0.2, "notifyCells": false}')).toEqual({
    errors: null,
    composite: expect.objectContaining(known)
  });
  expect(read('{"updatesPerSecond": 99}').errors).not.toBeNull();
});
