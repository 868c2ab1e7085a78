import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { Scale } from './charts/heatMap';

it('has a legend for grey cells, too', () => {
  const legend = document.createElement('p');
  legend.innerHTML = renderToStaticMarkup(
    <Scale trans={nullTranslator.load('x')} />
  );
  const grey = legend.lastElementChild!.lastElementChild!;
  expect(grey.textContent).toBe(' alike, or unsteady');
  expect(grey.querySelector('i')!.dataset.step).toBe('0');
});
