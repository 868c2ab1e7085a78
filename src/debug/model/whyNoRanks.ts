import { TranslationBundle } from '@jupyterlab/translation';

import { DebugModel, DebugView } from './model';
import { sentence } from './texts';

const OFF: Pick<DebugView, 'code' | 'notes'> = { code: 'off', notes: [] };

/** Why the debugger's commands have no rank to act on; null if they have one. */
export function whyNoRanks(
  { view, isStarted }: Pick<DebugModel, 'view' | 'isStarted'>,
  trans: TranslationBundle
): string | null {
  if (view?.on && view.ranks.some(rank => rank.attached)) {
    return null;
  }
  return sentence(view ?? (OFF as DebugView), isStarted, trans);
}

/** Why no rank can continue; null if one can. */
export function whyNoneContinues(
  model: Pick<DebugModel, 'view' | 'isStarted'>,
  trans: TranslationBundle
): string | null {
  const why = whyNoRanks(model, trans);
  const stops =
    model.view?.ranks.some(rank => rank.phase === 'paused') ||
    model.view?.pausing?.length;
  return why ?? (stops ? null : trans.__('No rank is paused.'));
}
