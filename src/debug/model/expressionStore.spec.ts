import { IDebugger } from '@jupyterlab/debugger';
import { Contents } from '@jupyterlab/services';
import { StateDB } from '@jupyterlab/statedb';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { ExpressionStore, MOST } from './expressionStore';
import { DebugModel } from './model';

const KEY = 'dtrain-lab:expressions';

/** The model of a page, without a kernel. */
function made(): DebugModel {
  const signal = (): Signal<object, never> => new Signal({});
  return new DebugModel({
    session: null,
    eventMessage: signal(),
    sessionChanged: signal(),
    model: { titleChanged: signal() }
  } as unknown as IDebugger);
}

/** A page with the browser's state, on which notebooks are debugged. */
function page(state: StateDB) {
  const model = made();
  const session = { connection: null as { id: string; path: string } | null };
  const fileChanged = new Signal<object, object>({});
  const files = { fileChanged } as unknown as Contents.IManager;
  const store = new ExpressionStore(model, state, { session }, files);
  const debug = (path: string, id = path): void => {
    session.connection = { id, path };
    store.follow();
  };
  const rename = (from: string, to: string): void =>
    fileChanged.emit({
      type: 'rename',
      oldValue: { path: from },
      newValue: { path: to }
    });
  return { model, kept: store, debug, rename };
}

const of = (model: DebugModel): string[] => model.rows.map(r => r.expression);

const saved = (state: StateDB, value: unknown): Promise<void> =>
  vi.waitFor(async () => expect(await state.fetch(KEY)).toEqual(value));

it('has the expressions again after a reload of the page', async () => {
  const state = new StateDB();
  const first = page(state);
  await first.kept.load();
  first.debug('a.ipynb');
  await first.model.compare('loss');
  await first.model.compare('x.norm()');
  first.model.forget('loss');
  await saved(state, [['a.ipynb', ['x.norm()']]]);
  const second = page(state);
  await second.model.compare('y');
  second.debug('a.ipynb', 'another session');
  expect(of(second.model)).toEqual(['y']);
  await second.kept.load();
  expect(of(second.model)).toEqual(['x.norm()', 'y']);
});

it('shows each notebook its own expressions', async () => {
  const state = new StateDB();
  const { model, kept, debug } = page(state);
  await kept.load();
  debug('a.ipynb');
  await model.compare('loss');
  debug('b.ipynb');
  expect(of(model)).toEqual([]);
  await model.compare('x');
  debug('a.ipynb');
  expect(of(model)).toEqual(['loss']);
  model.forget('loss');
  await saved(state, [['b.ipynb', ['x']]]);
});

it('follows a notebook that is renamed, or moved with its folder', async () => {
  const state = new StateDB();
  const { model, kept, debug, rename } = page(state);
  await kept.load();
  debug('RTC:old/a.ipynb');
  await model.compare('loss');
  rename('RTC:old/a.ipynb', 'RTC:old/b.ipynb');
  await model.compare('x'); // its session has the former path for a while
  rename('old', 'new');
  rename('new/b', 'new/c');
  await saved(state, [['new/b.ipynb', ['loss', 'x']]]);
  debug('c.ipynb');
  debug('new/b.ipynb');
  expect(of(model)).toEqual(['loss', 'x']);
});

it('keeps those of the notebooks that were changed last', async () => {
  const state = new StateDB();
  await state.save(KEY, ['of', 'an earlier version']);
  const { model, kept, debug } = page(state);
  await kept.load();
  for (let i = 0; i <= MOST; i++) {
    debug(`${i}.ipynb`);
    await model.compare('x');
  }
  debug('0.ipynb');
  expect(of(model)).toEqual([]);
  debug('1.ipynb');
  expect(of(model)).toEqual(['x']);
});
