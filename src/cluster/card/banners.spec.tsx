import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { IClusters, Stopped } from '../../tokens';
import { Disconnected } from './banners';

const trans = nullTranslator.load('dtrain_lab');

it('says of a server that was stopped what its clusters do', () => {
  const said = (stopped: Stopped | null) =>
    renderToStaticMarkup(
      <Disconnected
        model={{ retryAt: null, stopped } as unknown as IClusters}
        trans={trans}
      />
    );
  expect(said('with clusters')).toContain(
    'The server was stopped, and with it the clusters on its machine'
  );
  expect(said('alone')).toContain(
    'The server was stopped. The clusters on its machine wait ten minutes for your next server'
  );
  expect(said(null)).not.toContain('It was stopped');
});
