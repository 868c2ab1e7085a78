import { JupyterFrontEnd } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { ILiveState, ISite, ISweeps } from '../tokens';
import { jobsIcon } from '../ui/icons/viewIcons';
import { addView, showView } from '../ui/mainArea';
import { JOB_ARGS } from './jobCommands';
import type { OpenNotebook } from './form/notebook';
import { JobRequests } from './model/requests';
import type { JobsView, JobView } from './widgets';

/** What the views of jobs need. */
interface IViewDependencies {
  app: JupyterFrontEnd;
  model: ILiveState;
  site: ISite;
  jobs: JobRequests;
  /** Null in a front end without sweeps. */
  sweeps: ISweeps | null;
  lists: WidgetTracker<JobsView>;
  views: WidgetTracker<JobView>;
  openNotebook: OpenNotebook;
  trans: TranslationBundle;
}

/** Commands that open the list of jobs, and a job. */
export function addViewCommands(dependencies: IViewDependencies): void {
  const { app, model, site, jobs, sweeps, lists, views, trans } = dependencies;
  const { commands, shell } = app;
  commands.addCommand(CommandIDs.showJobs, {
    label: trans.__('Jobs'),
    caption: trans.__('Submitted notebooks'),
    icon: args => (args.launcher ? jobsIcon : undefined),
    execute: async () => {
      const { JobsView } = await import('./widgets');
      let view = lists.currentWidget;
      if (!view || view.isDisposed) {
        view = new JobsView({ model, site, jobs, sweeps, commands, trans });
        void lists.add(view);
        addView(shell, view);
      }
      showView(shell, view);
    },
    describedBy: { args: { type: 'object', properties: {} } }
  });
  commands.addCommand(CommandIDs.openJob, {
    label: trans.__('Open'),
    execute: async args => {
      const id = String(args.id ?? '');
      if (!id) {
        return;
      }
      const { JobView } = await import('./widgets');
      let view = views.find(v => v.args.id === id);
      if (!view) {
        const known = model.jobs.find(j => j.id === id)?.name;
        const name = known ?? String(args.name ?? id);
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
