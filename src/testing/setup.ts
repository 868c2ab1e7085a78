/** What jsdom lacks and @lumino or @jupyterlab touch when they are imported. */
const target = globalThis as unknown as Record<string, unknown>;

target.DragEvent ??= class DragEvent extends MouseEvent {};
target.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};
target.matchMedia ??= () => ({
  matches: false,
  addEventListener: () => undefined,
  removeEventListener: () => undefined
});
target.requestIdleCallback ??= (callback: () => void) => setTimeout(callback);
HTMLCanvasElement.prototype.getContext = (() =>
  null) as unknown as typeof HTMLCanvasElement.prototype.getContext;
