import { expect, it, vi } from 'vitest';

import { MethodSteps } from './steps';

/** An object of a class with a method, as JupyterLab's are. */
class Part {
  said: string[] = [];

  async say(text: string): Promise<string> {
    this.said.push(text);
    return `said ${text}`;
  }
}

type Say = Part['say'];
const NEVER = (): void => {
  throw new Error('it has the method');
};

function made(part = new Part()) {
  const steps = new MethodSteps<Say, 'outer' | 'inner'>(
    part,
    'say',
    ['outer', 'inner'],
    NEVER
  );
  return { part, steps };
}

it('runs steps in their order, not in that in which they were added', async () => {
  const { part, steps } = made();
  steps.add('inner', (next, text) => next(`${text} inner`));
  const outer = steps.add('outer', (next, text) => next(`${text} outer`));
  expect(await part.say('a')).toBe('said a outer inner');
  outer.dispose();
  expect(await part.say('b')).toBe('said b inner');
  expect(await steps.original!('c')).toBe('said c');
  expect(part.said).toEqual(['a outer inner', 'b inner', 'c']);
});

it('gives the method back', async () => {
  const { part, steps } = made();
  steps.add('outer', async () => 'replaced');
  expect(await part.say('a')).toBe('replaced');
  steps.dispose();
  steps.dispose();
  expect(steps.isDisposed).toBe(true);
  expect(Object.keys(part)).toEqual(['said']);
  expect(part.say).toBe(Part.prototype.say);
  const own: Say = async () => 'its own';
  const one = Object.assign(new Part(), { say: own });
  made(one).steps.dispose();
  expect(one.say).toBe(own);
});

it('leaves the replacement of another extension, and does nothing in it any more', async () => {
  const { part, steps } = made();
  steps.add('outer', (next, text) => next(`${text} ours`));
  const before = part.say.bind(part);
  const theirs: Say = text => before(`${text} theirs`);
  part.say = theirs;
  expect(await part.say('a')).toBe('said a theirs ours');
  steps.dispose();
  expect(part.say).toBe(theirs);
  expect(await part.say('b')).toBe('said b theirs');
});

it('says that there is no such method, and adds none', () => {
  const lacks = vi.fn();
  const part = {};
  const steps = new MethodSteps<Say, 'outer'>(part, 'say', ['outer'], lacks);
  steps.add('outer', async () => 'replaced');
  expect(lacks).toHaveBeenCalledTimes(1);
  expect(steps.original).toBeNull();
  steps.dispose();
  expect(part).toEqual({});
});
