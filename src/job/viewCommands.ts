import { JupyterFrontEnd } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';

import { CommandIDs, isId } from '../commands';
import { IJobs, ILiveState, ISite, ISweeps } from '../tokens';
import { jobIcon, jobsIcon } from '../ui/icons/viewIcons';
import { addView, showView } from '../ui/mainArea';
import { JOB_ARGS } from './jobCommands';
import type { OpenNotebook } from './form/notebook';
import type { JobsView, JobView } from './widgets';

/** What the views of jobs need. */
interface IViewDependencies {
  app: JupyterFrontEnd;
  model: ILiveState;
  site: ISite;
  jobs: IJobs;
  /** Null in a front end without sweeps. */
  sweeps: ISweeps | null;
  /** The notebook that would be submitted; null if there is none. */
  chosen: () => string | null;
  lists: WidgetTracker<JobsView>;
  views: WidgetTracker<JobView>;
  openNotebook: OpenNotebook;
  trans: TranslationBundle;
}

/** Commands that open the list of jobs, and a job. */
export function addViewCommands(dependencies: IViewDependencies): void {
  const { app, model, site, jobs, sweeps, chosen, lists, views, trans } =
    dependencies;
  const { commands, shell } = app;
  commands.addCommand(CommandIDs.showJobs, {
    label: trans.__('Jobs'),
    caption: trans.__('Submitted notebooks'),
    icon: args => (args.launcher || args.toolbar ? jobsIcon : undefined),
    execute: async args => {
      let view = lists.currentWidget;
      if (!view || view.isDisposed) {
        jobs.askAhead();
      }
      const { JobsView } = await import('./widgets');
      view = lists.currentWidget;
      if (!view || view.isDisposed) {
        view = new JobsView({
          model,
          site,
          jobs,
          sweeps,
          chosen,
          commands,
          trans
        });
        void lists.add(view);
        addView(shell, view);
      }
      showView(shell, view);
      if (typeof args.slots === 'string') {
        view.showSlots(args.slots);
      }
    },
    describedBy: {
      args: {
        type: 'object',
        properties: {
          slots: {
            type: 'string',
            description: 'Profile whose slots to bring into view'
          }
        }
      }
    }
  });
  commands.addCommand(CommandIDs.openJob, {
    label: trans.__('Open'),
    caption: trans.__('Show a job, its log and its charts'),
    icon: args => (args.toolbar ? jobIcon : undefined),
    isEnabled: args => isId(args.id),
    execute: async args => {
      const { id } = args;
      if (!isId(id)) {
        return;
      }
      const { JobView } = await import('./widgets');
      let view = views.find(v => v.args.id === id);
      if (!view) {
        const listedName = model.jobs.find(j => j.id === id)?.name;
        const name = listedName ?? String(args.name ?? id);
        view = new JobView({
          id,
          name,
          model,
          jobs,
          commands,
          trans,
          openNotebook: (...place) => void dependencies.openNotebook(...place)
        });
        void views.add(view);
        addView(shell, view);
      }
      showView(shell, view);
    },
    describedBy: JOB_ARGS
  });
}
