import { expect, it } from 'vitest';

import {
  defaultsOf,
  differing,
  faultOf,
  followed,
  linesOf,
  NoAssignment,
  parametersOf,
  withAssigned,
  withValue
} from './assignments';

it('reads parameters as Python and JSON write them', () => {
  expect(
    parametersOf(
      "lr = 3e-4\nepochs=3 # few\nname = 'a b'\nfast = True\nsizes = [1, 2]\nword = adam\n" +
        'half = .5\nmany = 1_000\n'
    )
  ).toEqual({
    lr: 3e-4,
    epochs: 3,
    name: 'a b',
    fast: true,
    sizes: [1, 2],
    word: 'adam',
    half: 0.5,
    many: 1000
  });
  expect(() => parametersOf('no equals sign')).toThrow(NoAssignment);
});

it('keeps a number with a point one', () => {
  expect(JSON.stringify(parametersOf('a = 1.0\nb = 1'))).toBe(
    '{"a":1.0,"b":1}'
  );
});

it('takes plain assignments from the tagged cell, in any alphabet', () => {
  expect(
    defaultsOf('# set\nlr = 0.1\nif x == 1:\n    y = 2\nepochs = 3\ngröße = 2')
  ).toBe('lr = 0.1\nepochs = 3\ngröße = 2');
});

it('takes assignments with types, and leaves their types out', () => {
  const source =
    'lr: float = 3e-3  # rate\nnames: "list[str] | None" = None\nd: dict\nx[0]: int = 1\nif a: b = 1';
  expect(defaultsOf(source)).toBe('lr = 3e-3  # rate\nnames = None');
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

it('tells a slip of the keyboard from a text', () => {
  expect(faultOf('0.0.5', undefined)).toBe('no number');
  expect(faultOf('2 ** 3', '2 ** 3')).toBeNull();
  expect(faultOf('2 ** 4', '2 ** 3')).toBe('no number');
  expect(faultOf('1e999', '3')).toBe('number expected');
  expect(faultOf('1.0', '3')).toBeNull();
  expect(faultOf('-', undefined)).toBeNull();
  expect(faultOf('', '3')).toBe('empty');
  expect(faultOf('abc', '3')).toBe('number expected');
  expect(faultOf('"abc"', '3')).toBe('number expected');
  expect(faultOf("'4'", '3')).toBe('number in quotes');
  expect(faultOf('"abc"', undefined)).toBeNull();
  expect(faultOf('adam', "'sgd'")).toBeNull();
  expect(faultOf('1e-3', '3')).toBeNull();
});

it('lets what nobody has changed follow the notebook', () => {
  const before = 'lr = 0.1\nepochs = 3\nold = 1';
  const now = 'lr = 0.2\nepochs = 5  # more\nmomentum = 0.9';
  expect(followed(before, before, now)).toBe(now);
  // given another value, it keeps that; what the notebook has lost stays only then
  expect(followed('lr = 0.1\nepochs = 9\nold = 2', before, now)).toBe(
    'lr = 0.2\nepochs = 9  # more\nmomentum = 0.9\nold = 2'
  );
  expect(followed('epochs', before, now)).toBe('epochs');
  expect(followed('lr = 1', '', '')).toBe('lr = 1');
});

it('finds the values with which a job ran that the notebook does not have', () => {
  const defaults = 'fail_at = -1\nepochs = 5\nlr = 1.0';
  const given = { fail_at: 2, epochs: 5, lr: 1, name: 'night' };
  expect(differing(defaults, given)).toEqual({ fail_at: 2, name: 'night' });
});

it('sets values in a cell as Python, and leaves all else in it', () => {
  const cell = [
    '# what to train',
    'lr: float = 3e-4  # Adam',
    'betas = (',
    '    0.9, 0.95',
    ')',
    'steps = 2 ** 3',
    'same = lr == 1',
    'name = "day"'
  ].join('\n');
  const given = { lr: 0.1, betas: [0.9, true], steps: 4, name: "it's" };
  expect(withAssigned(cell, given).split('\n')).toEqual([
    '# what to train',
    'lr: float = 0.1  # Adam',
    'betas = (',
    '    0.9, 0.95',
    ')',
    'steps = 2 ** 3',
    'same = lr == 1',
    'name = "it\'s"',
    'betas = [0.9, True]',
    'steps = 4'
  ]);
  expect(withAssigned('x = 1', { options: { deep: null } })).toBe(
    'x = 1\noptions = {"deep": None}'
  );
});
