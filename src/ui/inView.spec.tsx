import React, { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

it('keeps its content while it is out of view, and draws the latest when it comes back', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  let tell: (target: Element, isIntersecting: boolean) => void = () =>
    undefined;
  class Observer {
    constructor(callback: (entries: unknown[]) => void) {
      tell = (target, isIntersecting) => callback([{ target, isIntersecting }]);
    }
    observe(): void {}
    unobserve(): void {}
  }
  vi.stubGlobal('IntersectionObserver', Observer);
  vi.resetModules(); // one observer serves all elements of a page
  const { InView } = await import('./inView');
  const node = document.body.appendChild(document.createElement('div'));
  const root = createRoot(node);
  const draw = vi.fn((text: string) => text);
  const update = (text: string): void =>
    act(() =>
      root.render(<InView title={text} draw={() => draw(text) + '!'} />)
    );
  update('one');
  const host = node.firstElementChild as HTMLElement;
  expect(host.textContent).toBe('one!');
  act(() => tell(host, false));
  draw.mockClear();
  update('two');
  expect([host.title, host.textContent]).toEqual(['two', 'one!']);
  expect(draw).not.toHaveBeenCalled();
  act(() => tell(host, true));
  expect(host.textContent).toBe('two!');
  act(() => root.unmount());
});
