import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  Clipboard,
  ICommandPalette,
  WidgetTracker
} from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { JOB_ENDED } from '../api/states';
import { CommandIDs } from '../commands';
import { request } from '../request/rest';
import { ILiveState, ISelection, Verdict } from '../tokens';
import { stacksIcon } from '../ui/icons/viewIcons';
import { addView, showView } from '../ui/mainArea';
import type { IStacksOf, StacksView } from './view';
import { tellBriefly } from '../ui/text/toast';

/** Whether a cluster or job has ended. */
function hasEnded({ kind, id }: IStacksOf, model: ILiveState): boolean {
  if (!model.isKnown) {
    return false;
  }
  const job = model.jobs.find(one => one.id === id);
  return kind === 'job'
    ? job !== undefined && JOB_ENDED.includes(job.state)
    : model.clusters.every(one => one.id !== id);
}

/** The Stacks view in the main area. */
export const stacksPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:stacks',
  description: 'The Stacks view: where the ranks of a cluster or a job are.',
  autoStart: true,
  requires: [ILiveState, ISelection],
  optional: [ICommandPalette, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: ILiveState,
    selection: ISelection,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands, shell } = app;
    const settings = app.serviceManager.serverSettings;
    const tracker = new WidgetTracker<StacksView>({
      namespace: 'dtrain-stacks'
    });

    const wanted = (args: ReadonlyPartialJSONObject): IStacksOf | null => {
      const kind = args.job ? 'job' : 'cluster';
      const id = (args.id as string | undefined) ?? selection.current?.id;
      const world =
        kind === 'job'
          ? model.jobs.find(j => j.id === id)
          : model.clusters.find(c => c.id === id);
      const name = world?.name ?? (args.name as string | undefined) ?? id;
      return id && name ? { kind, id, name } : null;
    };
    const verdictOf = ({ kind, id }: IStacksOf): Verdict | null => {
      const shown = (kind === 'job' ? model.jobs : model.clusters).find(
        world => world.id === id
      );
      // a user who requests stacks wants to know which rank is awaited, also if the verdict was ignored
      return model.ignored(id) ?? shown?.metrics?.verdicts[0] ?? null;
    };

    commands.addCommand(CommandIDs.showStacks, {
      label: trans.__('Show Stacks'),
      caption: trans.__('Where the ranks are: their stacks, equal ones folded'),
      icon: args => (args.toolbar ? stacksIcon : undefined),
      isEnabled: args => {
        const cluster =
          model.clusters.find(c => c.id === args.id) ?? selection.current;
        return !!args.job || (cluster?.may.includes('stacks') ?? !!args.id);
      },
      execute: async args => {
        const of = wanted(args);
        if (!of) {
          return;
        }
        const { StacksView } = await import('./view');
        let view = tracker.find(
          v => v.of.id === of.id && v.of.kind === of.kind
        );
        const ranks = (args.ranks as number[] | undefined) ?? null;
        if (!view) {
          view = new StacksView({
            of,
            ask: () =>
              of.kind === 'job'
                ? request(settings, 'GET', '/jobs/{identity}/stacks', of)
                : request(settings, 'GET', '/clusters/{identity}/stacks', of),
            verdict: () => verdictOf(of),
            ended: () => hasEnded(of, model),
            changed: model.changed,
            copy: text => {
              Clipboard.copyToSystem(text);
              tellBriefly(trans.__('The stacks are on the clipboard.'));
            },
            commands,
            trans
          });
          view.ask(ranks);
          void tracker.add(view);
          addView(shell, view);
        } else {
          view.ask(ranks);
        }
        showView(shell, view);
      },
      describedBy: {
        args: {
          type: 'object',
          properties: {
            id: { type: 'string', description: 'Id of the cluster or job' },
            name: { type: 'string', description: 'Name of the cluster or job' },
            job: {
              type: 'boolean',
              description: 'Whether the id is that of a job'
            },
            ranks: {
              type: 'array',
              items: { type: 'number' },
              description: 'Numbers of the ranks; if missing, all ranks'
            }
          }
        }
      }
    });
    let possible = '';
    model.changed.connect(() => {
      const now = model.clusters
        .map(c => `${c.id} ${c.may.includes('stacks')}`)
        .join();
      if (now !== possible) {
        possible = now;
        commands.notifyCommandChanged(CommandIDs.showStacks);
      }
    });
    void restorer?.restore(tracker, {
      command: CommandIDs.showStacks,
      name: view => `${view.of.kind}-${view.of.id}`,
      args: ({ of }) => ({ id: of.id, name: of.name, job: of.kind === 'job' })
    });
    palette?.addItem({
      command: CommandIDs.showStacks,
      category: trans.__('Distributed')
    });
  }
};
