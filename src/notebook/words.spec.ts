import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makeCluster } from '../testing/clusters';
import { pickedOf } from './words';

const trans = nullTranslator.load('');

it('claims nothing of a cluster without a server, and lets nothing be chosen', () => {
  const cluster = makeCluster();
  expect(pickedOf(cluster, 'open', trans)).toMatchObject({
    text: 'local-2',
    glyph: 'idle',
    why: null
  });
  const lost = pickedOf(cluster, 'lost', trans);
  expect(lost).toMatchObject({ text: 'local-2', glyph: 'off' });
  expect(lost.why).toContain('No connection to the server');
  expect(pickedOf(null, 'lost', trans).text).toBe('No connection');
  expect(pickedOf(null, 'open', trans)).toMatchObject({
    text: 'No cluster',
    glyph: null
  });
});
