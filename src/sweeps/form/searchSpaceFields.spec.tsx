import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { emptySweep } from '../model/formRequest';
import { Vary } from './searchSpaceFields';

function html(parameter: string | null): string {
  return renderToStaticMarkup(
    <Vary
      form={emptySweep([])}
      change={() => undefined}
      faults={[]}
      refused={[{ field: 'space', parameter, text: 'It was refused.' }]}
      trans={nullTranslator.load('dtrain_lab')}
      parameters={[
        { name: 'lr', value: '0.1' },
        { name: 'depth', value: '2' }
      ]}
      text=""
      setText={() => undefined}
      fixedFaults={[]}
    />
  );
}

it('says what the server refuses of a parameter beside it', () => {
  const [before, after] = html('depth').split('It was refused.');
  expect(before).toContain('data-sweep="depth"');
  expect(after).toBeDefined();
  expect(html('depth').match(/aria-invalid="true"/g)).toHaveLength(1);
});

it('says above all of them what belongs to none', () => {
  for (const parameter of [null, 'gone']) {
    const [before] = html(parameter).split('It was refused.');
    expect(before).toContain('role="alert"');
    expect(before).not.toContain('data-sweep');
  }
});
