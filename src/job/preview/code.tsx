import { TranslationBundle } from '@jupyterlab/translation';
import React, { useEffect, useRef, useState } from 'react';

/** Writes code into an element, in the theme's colours. */
export type Highlight = (
  code: string,
  language: string,
  into: HTMLElement
) => Promise<void>;

/** A line with an error, and the error. */
export interface IMark {
  line: number;
  text: string;
}

/** Longer texts are shown without highlighting. */
const COLOURED = 200_000;

/** Code with line numbers. */
export function Code(props: {
  text: string;
  language: string;
  marks: readonly IMark[];
  /** Number of lines at the beginning that are folded initially. */
  fold: number;
  /** Whether lines have numbers; true by default. */
  numbered?: boolean;
  /** Whether long lines wrap; false by default. Neither numbers nor marks are beside wrapped lines. */
  wraps?: boolean;
  highlight: Highlight;
  trans: TranslationBundle;
}): JSX.Element {
  const { text, language, marks, fold, highlight, trans } = props;
  const [open, setOpen] = useState(false);
  const element = useRef<HTMLPreElement>(null);
  const lines = text.replace(/\n$/, '').split('\n');
  const hidden = open ? 0 : fold;
  const shown = hidden ? lines.slice(hidden).join('\n') : text;
  useEffect(() => {
    const into = element.current;
    if (!into) {
      return;
    }
    into.textContent = shown;
    if (!language || shown.length > COLOURED) {
      return;
    }
    let gone = false;
    const coloured = document.createElement('pre');
    void highlight(shown, language, coloured).then(() => {
      if (!gone) {
        into.replaceChildren(...coloured.childNodes);
      }
    });
    return () => {
      gone = true;
    };
  }, [shown, language, highlight]);
  return (
    <>
      {fold > 0 && (
        <button
          type="button"
          className="jp-DtrainJob-fold"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? '▾' : '▸'} {foldedText(lines.slice(0, fold), trans)}
        </button>
      )}
      <div
        className="jp-DtrainJob-code-lines"
        data-wraps={props.wraps || undefined}
      >
        {props.numbered !== false && (
          <pre aria-hidden="true">
            {lines
              .map((_, n) => n + 1)
              .slice(hidden)
              .join('\n')}
          </pre>
        )}
        <div>
          {marks
            .filter(mark => mark.line >= hidden)
            .map(mark => (
              <p
                key={mark.line}
                className="jp-DtrainJob-lineMark"
                style={
                  {
                    '--jp-dtrain-line': mark.line - hidden
                  } as React.CSSProperties
                }
              >
                {/* space for the line itself: its error is after it */}
                <span aria-hidden="true">{lines[mark.line]}</span>{' '}
                <b>{mark.text}</b>
              </p>
            ))}
          <pre ref={element} />
        </div>
      </div>
    </>
  );
}

/** How many lines are before the first cell of a script, and what they define: without torch there is no device. */
export function foldedText(
  lines: readonly string[],
  trans: TranslationBundle
): string {
  const count = lines.length;
  const text = lines.join('\n');
  if (/^ +torch\.distributed\.init_process_group\(/m.test(text)) {
    return trans._n(
      '%1 line before your first cell: rank, device and process group',
      '%1 lines before your first cell: rank, device and process group',
      count
    );
  }
  return /^device = /m.test(text)
    ? trans._n(
        '%1 line before your first cell: rank and device',
        '%1 lines before your first cell: rank and device',
        count
      )
    : trans._n(
        '%1 line before your first cell: rank and world size',
        '%1 lines before your first cell: rank and world size',
        count
      );
}
