import { expect, it } from 'vitest';

import { blanked, isStyled, plain, printable, spansOf } from './ansi';

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

it('draws nothing for a bell and other control characters', () => {
  expect(printable('ding\u0007 a\u0000\u0001b\u007f\u009dc')).toBe('ding abc');
  expect(printable('\u0007')).toBe('');
  const kept = 'tab\tend\r\n loss 2.5 µs – 日本 \u001b[31mred\u001b[0m';
  expect(printable(kept)).toBe(kept);
  expect(plain('\u001b[31mred\u0007\u001b[0m')).toBe('red');
  // the beginning of no sequence
  expect(printable('a\u001bé\u001b')).toBe('aé');
});

it('takes back what was printed before a backspace, in its line', () => {
  expect(printable('ab\bc')).toBe('ac');
  expect(printable('\b\bx\ny\b\b\bz')).toBe('x\nz');
  expect(printable(`${'𝄞'.repeat(3)}\b\b!`)).toBe('𝄞!');
  expect(printable('/\b-\b\\\bdone')).toBe('done');
  const long = `${'x'.repeat(20_000)}${'\b'.repeat(19_999)}y`;
  expect(printable(long)).toBe('xy');
});

it('leaves out all sequences of a terminal', () => {
  const text =
    '\u001b]0;title\u0007a\u001b]8;;http://x.org\u001b\\b\u001b]8;;\u001b\\c\u001b(Bd\u001b7e\u001b[?25lf\u001b[2 qg\u001bPq\u001b\\h\u001b=i';
  expect(plain(text)).toBe('abcdefghi');
  expect(printable(text)).toBe(text);
  expect(
    spansOf(text)
      .map(span => span.text)
      .join('')
  ).toBe('abcdefghi');
  expect(blanked(text)).toHaveLength(text.length);
});
