import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

import { DEFAULT_PREFERENCES } from '../cluster/model/model';

interface ISchema {
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
