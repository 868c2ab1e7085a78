import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { Filled } from './filled';

it('has elements where the sentence of a language has them', () => {
  const html = (text: string): string =>
    renderToStaticMarkup(
      <Filled text={text} parts={[<code key="a">x</code>, 'b%1']} />
    );
  expect(html('Run %1, then %2.')).toBe('Run <code>x</code>, then b%1.');
  expect(html('%2: %1')).toBe('b%1: <code>x</code>');
  const trans = nullTranslator.load('dtrain_lab');
  expect(html(trans.__('Run %1', '%1'))).toBe('Run <code>x</code>');
});
