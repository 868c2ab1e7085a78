import { CommandRegistry } from '@lumino/commands';

import { ILiveState, ISelection, ISite } from '../../tokens';
import { isHang } from '../../verdicts/verdict';

/** Notify palette and menus, which redraw each time, only if the possible actions have changed. */
export function notifyWhenPossible(
  commands: CommandRegistry,
  model: ILiveState,
  selection: ISelection,
  site: ISite,
  ids: readonly string[]
): void {
  let before = '';
  const look = (): void => {
    const now = JSON.stringify([
      selection.current?.id,
      site.facts?.may_write,
      ...model.clusters.map(c => [
        c.id,
        c.state,
        ...c.may,
        c.lost.map(({ rank }) => rank),
        c.metrics.verdicts.some(isHang),
        model.ignored(c.id) !== null
      ])
    ]);
    if (now !== before) {
      before = now;
      ids.forEach(id => commands.notifyCommandChanged(id));
    }
  };
  model.changed.connect(look);
  selection.changed.connect(look);
  site.changed.connect(look);
}
