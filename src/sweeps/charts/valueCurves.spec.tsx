import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { Sweep, Trial } from '../../tokens';
import { ValueCurves } from './valueCurves';

it('has no line or tick where it says that there is no dot yet, and names every kind of dot', () => {
  const drawn = (trial: Partial<Trial>): HTMLElement => {
    const node = document.createElement('div');
    const sweep = {
      objective: 'loss',
      direction: 'minimize',
      state: 'running',
      created_at: 1,
      best: null,
      trials: [{ number: 0, value: 2, parameters: {}, ...trial }]
    } as unknown as Sweep;
    node.innerHTML = renderToStaticMarkup(
      <ValueCurves
        sweep={sweep}
        marked={null}
        trans={nullTranslator.load('dtrain_lab')}
      />
    );
    return node;
  };
  const begun = drawn({ state: 'running', ended_at: null });
  expect(begun.textContent).toContain('Each trial is a dot here');
  expect(begun.querySelectorAll('svg line, svg text')).toHaveLength(0);
  const stopped = drawn({ state: 'stopped', ended_at: 5 });
  expect(stopped.querySelectorAll('svg line').length).toBeGreaterThan(0);
  expect(stopped.querySelectorAll('[data-state=stopped]')).toHaveLength(1);
  expect(stopped.textContent).toContain('stopped early, stopped or failed');
});
