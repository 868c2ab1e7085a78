import { ISessionContext } from '@jupyterlab/apputils';
import { expect, it } from 'vitest';

import { WidgetKernels, widgetKernelsOf } from './widgetKernels';

const withKernel = (id: string | null): ISessionContext['session'] =>
  (id ? { kernel: { id } } : null) as ISessionContext['session'];

it('knows that the kernel of a widget was shut down, and that another one has taken its place', () => {
  const context = { session: withKernel('first') };
  const kernels = new WidgetKernels(context);
  expect(kernels.fateOf('slider')).toBe('here');
  context.session = withKernel(null);
  expect(kernels.fateOf('slider')).toBe('ended');
  context.session = withKernel('second');
  expect(kernels.fateOf('slider')).toBe('changed');
  // of a run with the new kernel
  expect(kernels.fateOf('bar')).toBe('here');
  // the other view of the notebook was opened later
  const late = widgetKernelsOf(context);
  expect(widgetKernelsOf(context)).toBe(late);
});

it('says nothing of a notebook that never had a kernel in this page, as one that a job has left', () => {
  const context = { session: withKernel(null) };
  const kernels = new WidgetKernels(context);
  expect(kernels.fateOf('slider')).toBe('here');
  expect(kernels.fateOf(null)).toBe('here');
  // the page was being loaded
  context.session = withKernel('first');
  expect(kernels.fateOf('slider')).toBe('here');
});
