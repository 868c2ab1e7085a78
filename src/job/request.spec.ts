import { expect, it } from 'vitest';

import {
  defaultsOf,
  emptyForm,
  FormError,
  linesOf,
  parametersOf,
  wantedOf,
  withValue
} from './request';

it('reads parameters as Python and JSON write them', () => {
  expect(
    parametersOf(
      "lr = 3e-4\nepochs=3 # few\nname = 'a b'\nfast = True\nsizes = [1, 2]\nword = adam\n"
    )
  ).toEqual({
    lr: 3e-4,
    epochs: 3,
    name: 'a b',
    fast: true,
    sizes: [1, 2],
    word: 'adam'
  });
});

it('says which field is wrong', () => {
  const form = { ...emptyForm(undefined, ''), nodes: 'two' };
  expect(() => wantedOf(form, 'a.ipynb')).toThrow(FormError);
  expect(() => parametersOf('no equals sign')).toThrow(FormError);
});

it('leaves open what is left open', () => {
  const wanted = wantedOf(emptyForm(undefined, ''), 'a.ipynb');
  expect(wanted).toMatchObject({
    notebook: 'a.ipynb',
    nodes: 1,
    ranks_per_node: null,
    name: null,
    time: null
  });
});

it('takes plain assignments from the tagged cell', () => {
  expect(defaultsOf('# set\nlr = 0.1\nif x == 1:\n    y = 2\nepochs = 3')).toBe(
    'lr = 0.1\nepochs = 3'
  );
});

it('changes one parameter and leaves the rest as it was typed', () => {
  const text = '# rates\nlr = 0.1  # small\nepochs=3';
  expect(withValue(text, 'lr', '0.2')).toBe(
    '# rates\nlr = 0.2  # small\nepochs=3'
  );
  expect(linesOf(text)).toEqual([
    { name: 'lr', value: '0.1' },
    { name: 'epochs', value: '3' }
  ]);
});

it('sends what is put in the place of the profile', () => {
  const form = {
    ...emptyForm(undefined, ''),
    partition: 'gpu',
    environment: 'conda:/opt/torch',
    options: '--exclusive\n\n --reservation=r '
  };
  expect(wantedOf(form, 'a.ipynb')).toMatchObject({
    partition: 'gpu',
    environment: 'conda:/opt/torch',
    interface: null,
    options: ['--exclusive', '--reservation=r']
  });
});
