import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { emptySweep, ISweepForm } from '../model/formRequest';
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

it('has no ranges for a string, but keeps one that was chosen before', () => {
  const options = (vary: ISweepForm['vary']): (string | null)[] => {
    const node = document.createElement('div');
    node.innerHTML = renderToStaticMarkup(
      <Vary
        form={{ ...emptySweep([]), vary }}
        change={() => undefined}
        faults={[]}
        refused={[]}
        trans={nullTranslator.load('dtrain_lab')}
        parameters={[{ name: 'data', value: '"digits"' }]}
        text=""
        setText={() => undefined}
        fixedFaults={[]}
      />
    );
    return [...node.querySelectorAll('option')].map(o => o.textContent);
  };
  expect(options({})).toEqual(['is fixed', 'one of']);
  const before = { kind: 'uniform' as const, values: '', low: '0', high: '1' };
  expect(options({ data: before })).toEqual(['is fixed', 'one of', 'range']);
});

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
