import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { Finding } from '../../tokens';
import { problemsOf } from './fields';

const trans = nullTranslator.load('');
const finding = (parameter: string): Finding =>
  ({
    severity: 'problem',
    field: 'parameters',
    message: `${parameter} gets a string.`,
    fix: 'Give a number.',
    parameter
  }) as Finding;

it('says all parameters that the server does not take, each with its name', () => {
  const found = problemsOf([], null, [finding('lr'), finding('width')], trans);
  expect(found.parameters).toEqual({
    text: 'lr gets a string. Give a number.\nwidth gets a string. Give a number.',
    parameters: ['lr', 'width'],
    title: undefined,
    value: undefined
  });
});

it("lets the form's own faults stand before what the server said of what it was", () => {
  const own = {
    field: 'parameters',
    parameter: 'lr',
    text: 'lr has no value.'
  };
  expect(
    problemsOf([own as never], null, [finding('lr')], trans).parameters
  ).toEqual({ text: 'lr has no value.', parameters: ['lr'] });
  // other parameters, which the report names, are marked all the same
  const found = [finding('lr'), finding('width')];
  expect(problemsOf([own as never], null, found, trans).parameters).toEqual({
    text: 'lr has no value.\nwidth gets a string. Give a number.',
    parameters: ['lr', 'width']
  });
});
