// alone: whole views
import { nullTranslator } from '@jupyterlab/translation';
import React, { act, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Simulate } from 'react-dom/test-utils';
import { expect, it, vi } from 'vitest';

import { Parameters } from './parameters';

const trans = nullTranslator.load('');

function Kept(props: { tagged: boolean; begins: string }): JSX.Element {
  const [text, change] = useState(props.begins);
  return (
    <Parameters
      text={text}
      change={change}
      tagged={props.tagged}
      trans={trans}
    />
  );
}

function shown(tagged: boolean, begins = ''): HTMLElement {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  const node = document.body.appendChild(document.createElement('div'));
  act(() => createRoot(node).render(<Kept tagged={tagged} begins={begins} />));
  return node;
}

it('says where the values go', () => {
  expect(shown(true).textContent).toContain('These replace the values');
  expect(shown(true, 'lr = 1').textContent).toContain('From the cell tagged');
  for (const text of [shown(false), shown(false, 'lr = 1')]) {
    expect(text.textContent).toContain(
      'No cell of the notebook is tagged parameters, so these values are set before its first cell.'
    );
    expect(text.textContent).not.toContain('cell tagged');
  }
});

it('keeps the text box while someone types in it', () => {
  const node = shown(false);
  const box = node.querySelector('textarea')!;
  for (const value of ['epochs=', 'epochs=7']) {
    act(() => Simulate.change(box, { target: { value } as never }));
  }
  expect(node.querySelector('textarea')).toBe(box);
  expect(box.value).toBe('epochs=7');
  act(() => node.querySelector('button')!.click());
  expect(node.querySelector('label input')).toHaveProperty('value', '7');
});
