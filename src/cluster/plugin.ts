import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import {
  IAdviceState,
  IClusterActions,
  ILiveState,
  IPreferences,
  ISelection,
  ISite
} from '../tokens';
import { AdviceState } from './model/adviceState';
import { EndedStore } from './model/endedRuns';
import { storage } from './model/ignoredVerdicts';
import { LiveState } from './model/liveState';
import { ClusterRequests } from './model/requests';
import { Selection } from './model/selection';
import { ServerSite } from './model/site';

/** The server's machine and profiles. */
export const sitePlugin: JupyterFrontEndPlugin<ISite> = {
  id: 'dtrain-lab:site',
  description: "Provides the server's machine and profiles.",
  autoStart: true,
  provides: ISite,
  activate: (app: JupyterFrontEnd): ISite =>
    new ServerSite(app.serviceManager.serverSettings)
};

/** State of clusters from the server. */
export const clustersPlugin: JupyterFrontEndPlugin<ILiveState> = {
  id: 'dtrain-lab:clusters',
  description: 'Provides the clusters of this user.',
  autoStart: true,
  requires: [IPreferences, ISite],
  provides: ILiveState,
  activate: (
    app: JupyterFrontEnd,
    preferences: IPreferences,
    site: ISite
  ): ILiveState => {
    const { serverSettings } = app.serviceManager;
    const model = new LiveState(serverSettings, preferences, site, storage());
    model.start();
    return model;
  }
};

/** The selection that all views share. */
export const selectionPlugin: JupyterFrontEndPlugin<ISelection> = {
  id: 'dtrain-lab:selection',
  description: 'Provides what is chosen: cluster, rank and notebook.',
  autoStart: true,
  requires: [ILiveState],
  provides: ISelection,
  activate: (app: JupyterFrontEnd, clusters: ILiveState): ISelection =>
    new Selection(
      clusters,
      new EndedStore(storage(), app.serviceManager.serverSettings.baseUrl)
    )
};

/** Advice that the user has dismissed or applied. */
export const advicePlugin: JupyterFrontEndPlugin<IAdviceState> = {
  id: 'dtrain-lab:advice',
  description: 'Provides which advice is dismissed or applied.',
  autoStart: true,
  optional: [IStateDB],
  provides: IAdviceState,
  activate: (_: JupyterFrontEnd, state: IStateDB | null): IAdviceState => {
    const advice = new AdviceState();
    if (state) {
      void remember(advice, state);
    }
    return advice;
  }
};

/** Actions on clusters. */
export const actionsPlugin: JupyterFrontEndPlugin<IClusterActions> = {
  id: 'dtrain-lab:actions',
  description: 'Provides what can be done with clusters.',
  autoStart: true,
  requires: [ILiveState, ISelection],
  optional: [ITranslator],
  provides: IClusterActions,
  activate: (
    app: JupyterFrontEnd,
    clusters: ILiveState,
    selection: ISelection,
    translator: ITranslator | null
  ): IClusterActions => {
    const { serverSettings } = app.serviceManager;
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    return new ClusterRequests(serverSettings, trans, cluster => {
      clusters.add(cluster);
      selection.begin(cluster.id);
    });
  }
};

/** Keeps advice dismissed after a reload. */
async function remember(advice: AdviceState, state: IStateDB): Promise<void> {
  const key = 'dtrain-lab:dismissed';
  const dismissed = await state.fetch(key);
  if (Array.isArray(dismissed)) {
    advice.restoreDismissed(dismissed.map(String));
  }
  let saved = String(advice.dismissed);
  advice.changed.connect(() => {
    const now = String(advice.dismissed);
    if (now !== saved) {
      saved = now;
      void state.save(key, [...advice.dismissed]);
    }
  });
}
