import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { faultSentence, faultsOf, withoutFaults } from './fieldErrors';
import { emptyForm, IForm } from '../model/formRequest';

const trans = nullTranslator.load('');
const defaults = 'lr = 0.1\nepochs = 3';

function faults(part: Partial<IForm>): [string, string][] {
  const form = { ...emptyForm(undefined, defaults), ...part };
  return faultsOf(form, defaults, trans).map(f => [
    f.parameter ?? f.field,
    f.text
  ]);
}

it('finds nothing wrong with what is usual', () => {
  expect(faults({})).toEqual([]);
  expect(faults({ name: 'Größe π', time: '1-12:00:00' })).toEqual([]);
  expect(faults({ name: '-x' })[0].join()).toMatch(
    /^name,"-x" can't .*, beginning with a letter or digit\.$/
  );
  expect(faults({ name: 'x'.repeat(200) })[0].join()).toBe(
    'name,This name has 200 characters. Use at most 63.'
  );
});

it('says in words what is wrong with each field', () => {
  expect(
    faults({ nodes: '-1', ranksPerNode: 'abc', retries: '1000', time: 'long' })
  ).toEqual([
    ['nodes', '-1 is too low. Enter 1 or more.'],
    ['ranksPerNode', '"abc" is not a whole number.'],
    ['retries', '1000 is too high. Enter 100 or less.'],
    [
      'time',
      '"long" is not a time. Write 02:00:00, or 1-12:00:00 for a day and a half.'
    ]
  ]);
  expect(faults({ parameters: 'lr = 0.0.5\nepochs = abc' })).toEqual([
    [
      'lr',
      'lr: "0.0.5" is not a number. Enter a number; the notebook has 0.1.'
    ],
    [
      'epochs',
      'epochs: "abc" is not a number. Enter a number; the notebook has 3.'
    ]
  ]);
  expect(faults({ parameters: 'tag = 1.2.3' })).toEqual([
    ['tag', 'tag: "1.2.3" is not a number. If it is text, put it in quotes.']
  ]);
  expect(faults({ parameters: 'lr' })).toEqual([
    ['parameters', '"lr": write each parameter as name = value.']
  ]);
});

it('names the field where it is listed apart from it', () => {
  const form = { ...emptyForm(undefined, defaults), nodes: '-1' };
  const bad = { ...form, parameters: 'lr = 0.0.5' };
  expect(
    faultsOf(bad, defaults, trans).map(f => faultSentence(f, trans))
  ).toEqual([
    'Nodes: -1 is too low. Enter 1 or more.',
    'lr: "0.0.5" is not a number. Enter a number; the notebook has 0.1.'
  ]);
});

it('takes no text in quotes where the notebook has a number', () => {
  expect(faults({ parameters: 'lr = "abc"\nepochs = \'0.1\'' })).toEqual([
    ['lr', 'lr: "abc" is not a number. Enter a number; the notebook has 0.1.'],
    [
      'epochs',
      "epochs: '0.1' is text, as it is in quotes. Enter it without quotes."
    ]
  ]);
  expect(faults({ parameters: 'lr = 1e-3\ntag = "0.1"' })).toEqual([]);
});

it('leaves out of a form only what is wrong in it', () => {
  const form: IForm = {
    ...emptyForm(undefined, defaults),
    parameters: 'lr = abc\nepochs =\nwidth = 8',
    retries: '-2',
    nodes: '0',
    after: 'nosuchjob'
  };
  const sound = withoutFaults(form, faultsOf(form, defaults, trans), defaults);
  expect(sound).toEqual({
    ...form,
    parameters: 'width = 8',
    retries: '0',
    nodes: ''
  });
  expect(faultsOf(sound, defaults, trans)).toEqual([]);
  const noAssignment = { ...form, parameters: 'lr' };
  const found = faultsOf(noAssignment, defaults, trans);
  expect(withoutFaults(noAssignment, found, defaults).parameters).toBe(
    defaults
  );
});
