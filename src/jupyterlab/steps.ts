import { DisposableDelegate, IDisposable } from '@lumino/disposable';

type Method = (...args: never[]) => unknown;

/** What is done around a method: it calls `next` as the method, with these arguments or others. */
export type Step<M extends Method> = (
  next: M,
  ...args: Parameters<M>
) => ReturnType<M>;

/**
 * One wrapper of a method of JupyterLab, with all that we do around it in a stated order.
 *
 * Disposed of, it gives the method back. If another extension has replaced the method since, that one keeps its
 * place, and calls the original through ours.
 */
export class MethodSteps<
  M extends Method,
  Name extends string
> implements IDisposable {
  /**
   * @param target - has the method.
   * @param _order - all steps, from the outermost on, in whichever order they are added.
   * @param lacks - called if the target has no such method: steps have no effect then.
   */
  constructor(
    target: object,
    name: string,
    private _order: readonly Name[],
    lacks: () => void
  ) {
    const methods = target as Record<string, M | undefined>;
    const method = methods[name];
    if (typeof method !== 'function') {
      lacks();
      return;
    }
    const original = ((...args: Parameters<M>) =>
      Reflect.apply(method, target, args) as unknown) as unknown as M;
    const wrapper = ((...args: Parameters<M>) =>
      this._around(original)(...args)) as unknown as M;
    const own = Object.getOwnPropertyDescriptor(target, name);
    this.original = original;
    methods[name] = wrapper;
    this._restore = () => {
      if (methods[name] !== wrapper) {
        return;
      }
      if (own) {
        Object.defineProperty(target, name, own);
      } else {
        delete methods[name]; // it is the prototype's
      }
    };
  }

  /** The method without any step; null if the target has none. */
  readonly original: M | null = null;

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** @returns removes the step. */
  add(name: Name, step: Step<M>): IDisposable {
    this._steps.set(name, step);
    return new DisposableDelegate(() => this._steps.delete(name));
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._steps.clear();
      this._restore();
    }
  }

  private _around(original: M): M {
    return this._order
      .flatMap(name => this._steps.get(name) ?? [])
      .reduceRight<M>(
        (next, step) =>
          ((...args: Parameters<M>) => step(next, ...args)) as unknown as M,
        original
      );
  }

  private _isDisposed = false;
  private _restore: () => void = () => undefined;
  private _steps = new Map<Name, Step<M>>();
}
