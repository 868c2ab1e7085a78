import { readFileSync } from 'fs';
import { join } from 'path';
import { describe, expect, it } from 'vitest';

import { overwrites, Screen } from './screen';

interface IStep {
  /** Text that is printed; without one, the lines above the cursor are ended. */
  text?: string;
  done: string[];
  bars: string[];
  plain: boolean;
  rest?: string;
}

/** Also read by `tests/unit/cells/test_screen.py`: the kernel's screen shows the same. */
const CASES = JSON.parse(
  readFileSync(join('tests', 'unit', 'golden', 'screen.json'), 'utf-8')
) as {
  overwrites: { text: string; is: boolean }[];
  screens: { name: string; steps: IStep[] }[];
};

describe('shows, as the kernel does,', () => {
  it.each(CASES.screens)('$name', ({ steps }) => {
    const screen = new Screen();
    for (const step of steps) {
      const { text } = step;
      const done = text === undefined ? screen.settle() : screen.feed(text);
      expect({
        ...(text === undefined ? {} : { text }),
        done,
        bars: screen.bars,
        plain: screen.isPlain,
        ...(screen.isPlain ? { rest: screen.rest } : {})
      }).toEqual(step);
    }
  });
});

it('knows text that overwrites', () => {
  expect(
    CASES.overwrites.map(({ text }) => ({ text, is: overwrites(text) }))
  ).toEqual(CASES.overwrites);
});
