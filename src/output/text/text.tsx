import React from 'react';

import { isStyled, printable, spansOf } from '../lines/ansi';

/** A line of a terminal: its colours as JupyterLab draws them, and its links. */
export function Text(props: { text: string }): JSX.Element {
  const text = printable(props.text);
  if (!isStyled(text)) {
    return <>{text}</>;
  }
  return (
    <span className="jp-RenderedText jp-DtrainOutput-ansi">
      {/* the colours of JupyterLab's own text are those of a `pre` */}
      <pre>
        {spansOf(text).map((span, i) => {
          const style = {
            color: span.color,
            backgroundColor: span.background
          };
          return span.href ? (
            <a
              key={i}
              className={span.classes}
              style={style}
              href={span.href}
              target="_blank"
              rel="noopener noreferrer"
            >
              {span.text}
            </a>
          ) : (
            <span key={i} className={span.classes} style={style}>
              {span.text}
            </span>
          );
        })}
      </pre>
    </span>
  );
}
