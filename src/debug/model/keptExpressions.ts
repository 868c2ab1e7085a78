import { IStateDB } from '@jupyterlab/statedb';

import { DebugModel } from './model';

const KEY = 'dtrain-lab:expressions';

/** Keeps the compared expressions in the browser's state, so that a reloaded page has them again. */
export async function keepExpressions(
  model: Pick<DebugModel, 'rows' | 'restore' | 'changed'>,
  state: IStateDB
): Promise<void> {
  const kept = await state.fetch(KEY);
  if (Array.isArray(kept)) {
    model.restore(kept.filter(each => typeof each === 'string'));
  }
  const now = (): string[] => model.rows.map(({ expression }) => expression);
  let saved = JSON.stringify(now());
  model.changed.connect(() => {
    const text = JSON.stringify(now());
    if (text !== saved) {
      saved = text;
      // a page that can't save them has them as long as it is open
      state.save(KEY, now()).catch(() => undefined);
    }
  });
}
