/** A piece of a text in one style, or a link. */
export interface ISpan {
  text: string;
  /** Classes of JupyterLab's own rendered text: `ansi-red-fg`. */
  classes: string;
  /** Colours without a name there. */
  color?: string;
  background?: string;
  href?: string;
}

const NAMES = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white'
];
/** Sequences of a terminal: colours (group 1), others of ECMA-48, texts for the terminal itself, character sets. */
const CODES =
  /\u001b\[([\d;:]*)m|\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])/g;
/** Characters that a terminal does not draw; tab, line feed and carriage return are left as they are. */
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;
const CONTROLS = new RegExp(CONTROL, 'g');
const LINK =
  /\b(?:https?:\/\/|www\.)[^\s<>"'`\u001b]*[^\s<>"'`\u001b.,;:!?)\]}]/g;

/** A text with blanks instead of escape sequences, so that positions are unchanged. */
export function blanked(text: string): string {
  return text.replace(CODES, code => ' '.repeat(code.length));
}

/** A text without escape sequences and what else is not drawn. */
export function plain(text: string): string {
  return printable(text).replace(CODES, '');
}

/**
 * A text as a terminal draws it: without a bell and other characters that have no picture, which a page draws as boxes.
 * A backspace takes the character before it, as in JupyterLab's own output; escape sequences stay.
 */
export function printable(text: string): string {
  if (!CONTROL.test(text)) {
    return text;
  }
  let shown = '';
  let from = 0;
  for (const code of text.matchAll(CODES)) {
    shown += drawn(text.slice(from, code.index)) + code[0];
    from = code.index + code[0].length;
  }
  return shown + drawn(text.slice(from));
}

/** A text without escape sequences as a terminal draws it. */
function drawn(text: string): string {
  if (!text.includes('\b')) {
    return text.replace(CONTROLS, '');
  }
  const kept: string[] = [];
  for (const character of text) {
    if (character !== '\b') {
      kept.push(character);
    } else if (kept[kept.length - 1] !== '\n') {
      kept.pop();
    }
  }
  return kept.join('').replace(CONTROLS, '');
}

/** The escape sequences before a position, which apply to the text after it. */
export function stylesBefore(text: string, place: number): string {
  return (text.slice(0, place).match(CODES) ?? []).join('');
}

interface IStyle {
  fg: string | number | null;
  bg: string | number | null;
  bold: boolean;
  underline: boolean;
  inverse: boolean;
}

const PLAIN: IStyle = {
  fg: null,
  bg: null,
  bold: false,
  underline: false,
  inverse: false
};

/** Whether a text contains styles or links. */
export function isStyled(text: string): boolean {
  return (
    text.includes('\u001b') || text.includes('://') || text.includes('www.')
  );
}

/** A terminal's text as pieces: its colours as JupyterLab draws them, and its links. */
export function spansOf(text: string): ISpan[] {
  const spans: ISpan[] = [];
  let style = PLAIN;
  let from = 0;
  const put = (piece: string): void => {
    let at = 0;
    for (const link of piece.matchAll(LINK)) {
      push(spans, style, piece.slice(at, link.index));
      const href = link[0].startsWith('www.') ? `https://${link[0]}` : link[0];
      push(spans, style, link[0], href);
      at = link.index + link[0].length;
    }
    push(spans, style, piece.slice(at));
  };
  for (const code of text.matchAll(CODES)) {
    put(text.slice(from, code.index));
    from = code.index + code[0].length;
    if (code[1] !== undefined) {
      style = apply(style, code[1]);
    }
  }
  put(text.slice(from));
  return spans;
}

function push(
  spans: ISpan[],
  style: IStyle,
  text: string,
  href?: string
): void {
  if (!text) {
    return;
  }
  const [fg, bg] = style.inverse ? [style.bg, style.fg] : [style.fg, style.bg];
  const classes = [];
  const span: ISpan = { text, classes: '' };
  if (typeof fg === 'number') {
    classes.push(`ansi-${nameOf(fg, style.bold)}-fg`);
  } else if (fg) {
    span.color = fg;
  } else if (style.inverse) {
    classes.push('ansi-default-inverse-fg');
  }
  if (typeof bg === 'number') {
    classes.push(`ansi-${nameOf(bg, false)}-bg`);
  } else if (bg) {
    span.background = bg;
  } else if (style.inverse) {
    classes.push('ansi-default-inverse-bg');
  }
  if (style.bold) {
    classes.push('ansi-bold');
  }
  if (style.underline) {
    classes.push('ansi-underline');
  }
  span.classes = classes.join(' ');
  if (href) {
    span.href = href;
  }
  spans.push(span);
}

function nameOf(number: number, bold: boolean): string {
  const intense = number >= 8 || bold;
  return `${NAMES[number % 8]}${intense ? '-intense' : ''}`;
}

function apply(before: IStyle, codes: string): IStyle {
  const style = { ...before };
  const numbers = codes.split(/[;:]/).map(Number);
  for (let i = 0; i < numbers.length; i++) {
    const n = numbers[i];
    if (n === 38 || n === 48) {
      const [color, used] = extended(numbers.slice(i + 1));
      style[n === 38 ? 'fg' : 'bg'] = color;
      i += used;
    } else if (n === 0) {
      Object.assign(style, PLAIN);
    } else if (n === 1 || n === 22) {
      style.bold = n === 1;
    } else if (n === 4 || n === 24) {
      style.underline = n === 4;
    } else if (n === 7 || n === 27) {
      style.inverse = n === 7;
    } else if (n === 39) {
      style.fg = null;
    } else if (n === 49) {
      style.bg = null;
    } else if (n >= 30 && n <= 37) {
      style.fg = n - 30;
    } else if (n >= 40 && n <= 47) {
      style.bg = n - 40;
    } else if (n >= 90 && n <= 97) {
      style.fg = n - 82;
    } else if (n >= 100 && n <= 107) {
      style.bg = n - 92;
    }
  }
  return style;
}

/** A colour of the 256, or an RGB colour; and the number of codes that it used. */
function extended(codes: number[]): [string | number | null, number] {
  if (codes[0] === 2) {
    return [`rgb(${codes.slice(1, 4).join(', ')})`, 4];
  }
  const n = codes[1] ?? 0;
  if (n < 16) {
    return [n, 2];
  }
  if (n >= 232) {
    const grey = (n - 232) * 10 + 8;
    return [`rgb(${grey}, ${grey}, ${grey})`, 2];
  }
  const level = (v: number): number => (v ? 55 + 40 * v : 0);
  const [r, g, b] = [
    Math.floor((n - 16) / 36),
    Math.floor((n - 16) / 6) % 6,
    (n - 16) % 6
  ].map(level);
  return [`rgb(${r}, ${g}, ${b})`, 2];
}
