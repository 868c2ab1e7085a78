import { CommandRegistry } from '@lumino/commands';
import { IDebugger } from '@jupyterlab/debugger';
import { INotebookTracker } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { CommandIDs } from '../../commands';
import { ILiveState } from '../../tokens';
import { tellBriefly } from '../../ui/text/toast';
import { DebugModel } from '../model/model';
import { debuggedNotebook } from '../model/notebookOf';

/** JupyterLab's Stop. */
const STOP = 'notebook:interrupt-kernel';

/** What is used to end a post-mortem. */
interface IParts {
  commands: CommandRegistry;
  clusters: Pick<ILiveState, 'clusters'>;
  debug: Pick<IDebugger, 'session'>;
  model: Pick<DebugModel, 'view'>;
  tracker: Pick<INotebookTracker, 'find' | 'currentWidget'>;
  trans: TranslationBundle;
  onError: (error: unknown) => void;
}

/**
 * Have a notebook's Stop end a post-mortem: its kernel is idle meanwhile, so that an interrupt does nothing there.
 *
 * While the kernel runs a cell, such as one that waits for these ranks, Stop ends that cell, and only that.
 */
export function endPostMortemOnStop(parts: IParts): void {
  const { commands, clusters, debug, model, tracker, trans, onError } = parts;
  commands.commandExecuted.connect((_, { id }) => {
    const panel = tracker.currentWidget;
    const { view } = model;
    if (id !== STOP || !panel || panel !== debuggedNotebook(debug, tracker)) {
      return;
    }
    const cluster = clusters.clusters.find(one => one.id === view?.world);
    const isIdle = panel.sessionContext.session?.kernel?.status === 'idle';
    const isPaused = view?.ranks.some(({ phase }) => phase === 'paused');
    const runs = cluster?.running.some(({ kind }) => kind === 'post_mortem');
    if (isIdle && isPaused && runs) {
      commands
        .execute(CommandIDs.continueRanks)
        .then(() =>
          tellBriefly(
            trans.__(
              'The post-mortem has ended: the ranks keep their variables.'
            )
          )
        )
        .catch(onError);
    }
  });
}
