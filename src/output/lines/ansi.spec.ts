import { expect, it } from 'vitest';

import { isStyled, spansOf } from './ansi';

it('draws colours with the classes of JupyterLab', () => {
  expect(spansOf('a \u001b[31mred\u001b[0m \u001b[1;32mb\u001b[0m')).toEqual([
    { text: 'a ', classes: '' },
    { text: 'red', classes: 'ansi-red-fg' },
    { text: ' ', classes: '' },
    { text: 'b', classes: 'ansi-green-intense-fg ansi-bold' }
  ]);
});

it('knows 256 colours, all colours, backgrounds, and leaves out what moves a cursor', () => {
  expect(spansOf('\u001b[38;5;196mx\u001b[48;2;1;2;3my\u001b[K')).toEqual([
    { text: 'x', classes: '', color: 'rgb(255, 0, 0)' },
    {
      text: 'y',
      classes: '',
      color: 'rgb(255, 0, 0)',
      background: 'rgb(1, 2, 3)'
    }
  ]);
});

it('makes links of addresses, without the full stop after them', () => {
  expect(spansOf('see https://x.org/a?b=1.')).toEqual([
    { text: 'see ', classes: '' },
    { text: 'https://x.org/a?b=1', classes: '', href: 'https://x.org/a?b=1' },
    { text: '.', classes: '' }
  ]);
  expect(isStyled('plain')).toBe(false);
});
