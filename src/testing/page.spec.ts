import { readFileSync, readdirSync } from 'node:fs';

import { PageConfig } from '@jupyterlab/coreutils';
import { expect, it } from 'vitest';

import { SET, forgetPage } from './page';

it('knows all options of the page that specs set', () => {
  const set = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter(path => /\.spec\.tsx?$/.test(path))
    .flatMap(path => [
      ...readFileSync(`src/${path}`, 'utf8').matchAll(
        /\bsetOption\(\s*'(\w+)'/g
      )
    ])
    .map(found => found[1]);
  expect(SET).toEqual(expect.arrayContaining(set));
});

it('forgets them', () => {
  PageConfig.setOption('serverRoot', '/home/u/work');
  forgetPage();
  expect(PageConfig.getOption('serverRoot')).toBe('');
});
