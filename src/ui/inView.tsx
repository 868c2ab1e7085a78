import React, { useEffect, useRef, useState } from 'react';

/** Elements, and whom to tell when they come into view or leave it. */
const listeners = new WeakMap<Element, (seen: boolean) => void>();
let observer: IntersectionObserver | null = null;

/** Call a listener when an element comes into view or leaves it; returns a function that ends this. */
function watch(element: Element, tell: (seen: boolean) => void): () => void {
  // one observer for all: a table has an element per row
  const all = (observer ??= new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) {
      listeners.get(target)?.(isIntersecting);
    }
  }));
  listeners.set(element, tell);
  all.observe(element);
  return () => {
    all.unobserve(element);
    listeners.delete(element);
  };
}

/**
 * An element whose content is drawn only while it is in view. Scrolled out of view, the content stays as it
 * was; it is drawn again when it comes back.
 *
 * Views are drawn several times a second, and most of what they contain is below the fold.
 */
export function InView(
  props: {
    as?: 'div' | 'section' | 'tbody';
    /** Returns the content; not called while it is out of view. */
    draw: () => React.ReactNode;
  } & React.HTMLAttributes<HTMLElement>
): JSX.Element {
  const { as: Tag = 'div', draw, ...attributes } = props;
  const host = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState(true);
  useEffect(() => watch(host.current!, setSeen), []);
  return React.createElement(
    Tag,
    { ...attributes, ref: host },
    <Content draw={draw} seen={seen} />
  );
}

/** The content, which is not drawn again while it is out of view. */
const Content = React.memo(
  (props: { draw: () => React.ReactNode; seen: boolean }): JSX.Element => (
    <>{props.draw()}</>
  ),
  (_, next) => !next.seen
);
Content.displayName = 'Content';
