import { IDebugger } from '@jupyterlab/debugger';
import { StateDB } from '@jupyterlab/statedb';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { keepExpressions } from './keptExpressions';
import { DebugModel } from './model';

/** The model of a page, without a kernel. */
function page(): DebugModel {
  const signal = (): Signal<object, never> => new Signal({});
  return new DebugModel({
    session: null,
    eventMessage: signal(),
    sessionChanged: signal(),
    model: { titleChanged: signal() }
  } as unknown as IDebugger);
}

const of = (model: DebugModel): string[] => model.rows.map(r => r.expression);

it('has the expressions again after a reload of the page', async () => {
  const state = new StateDB();
  const first = page();
  await keepExpressions(first, state);
  await first.compare('loss');
  await first.compare('x.norm()');
  first.forget('loss');
  await vi.waitFor(async () =>
    expect(await state.fetch('dtrain-lab:expressions')).toEqual(['x.norm()'])
  );
  const second = page();
  await second.compare('y');
  await keepExpressions(second, state);
  expect(of(second)).toEqual(['x.norm()', 'y']);
});
