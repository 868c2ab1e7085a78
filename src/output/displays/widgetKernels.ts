import { ISessionContext } from '@jupyterlab/apputils';
import { CodeCell } from '@jupyterlab/cells';

/** What has become of the kernel that passed a widget's messages on. */
export type KernelFate = 'here' | 'changed' | 'ended';

const VIEW = 'application/vnd.jupyter.widget-view+json';

/** The id of the model of the widget in this output; null if there is no widget. */
export function modelOf(
  area: CodeCell['outputArea'],
  index: number
): string | null {
  const view = area.model.get(index)?.data[VIEW] as
    { model_id?: unknown } | undefined;
  return typeof view?.model_id === 'string' ? view.model_id : null;
}

/**
 * The kernels of a notebook's widgets. ipywidgets marks them only where a kernel restarts, not where it is shut down
 * or another one takes its place.
 */
export class WidgetKernels {
  constructor(private _context: Pick<ISessionContext, 'session'>) {}

  /** Of a model, whose kernel is the one that the notebook had when this page first asked for it. */
  fateOf(model: string | null): KernelFate {
    const kernel = this._context.session?.kernel?.id ?? null;
    if (model === null) {
      return 'here';
    }
    const first = this._kernels.get(model);
    // a notebook without a kernel so far: its page is being loaded, or only reads what a job has left
    if (first === undefined) {
      if (kernel !== null) {
        this._kernels.set(model, kernel);
      }
      return 'here';
    }
    return kernel === null ? 'ended' : kernel === first ? 'here' : 'changed';
  }

  /** By the id of the model. */
  private _kernels = new Map<string, string>();
}

const all = new WeakMap<object, WidgetKernels>();

/** Those of a notebook, all of whose views have the same context. */
export function widgetKernelsOf(
  context: Pick<ISessionContext, 'session'>
): WidgetKernels {
  const kernels = all.get(context) ?? new WidgetKernels(context);
  all.set(context, kernels);
  return kernels;
}
