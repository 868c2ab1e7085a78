import React, { useEffect, useState } from 'react';

/** Current width of an element, px; `usual` before it is drawn. */
export function useWidth(
  ref: React.RefObject<HTMLElement>,
  usual = 480
): number {
  const [width, setWidth] = useState(usual);
  useEffect(() => {
    const node = ref.current;
    if (!node) {
      return;
    }
    const observer = new ResizeObserver(() => {
      setWidth(Math.max(200, node.clientWidth));
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, [ref]);
  return width;
}
