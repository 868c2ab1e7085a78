import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IStateDB } from '@jupyterlab/statedb';

import { IClusterActions, IClusters, ISelection } from '../tokens';
import { storage } from './model/ignoredVerdicts';
import { ClustersModel } from './model/model';
import { ClusterRequests } from './model/requests';
import { Selection } from './model/selection';

/** State of clusters from the server. */
export const clustersPlugin: JupyterFrontEndPlugin<IClusters> = {
  id: 'dtrain-lab:clusters',
  description: 'Provides the clusters of this user.',
  autoStart: true,
  provides: IClusters,
  activate: (app: JupyterFrontEnd): IClusters =>
    new ClustersModel(app.serviceManager.serverSettings, storage())
};

/** The selection that all views share. */
export const selectionPlugin: JupyterFrontEndPlugin<ISelection> = {
  id: 'dtrain-lab:selection',
  description: 'Provides what is chosen: cluster, rank and notebook.',
  autoStart: true,
  requires: [IClusters],
  optional: [IStateDB],
  provides: ISelection,
  activate: (
    _: JupyterFrontEnd,
    clusters: IClusters,
    state: IStateDB | null
  ): ISelection => {
    const selection = new Selection(clusters);
    if (state) {
      void remember(selection, state);
    }
    return selection;
  }
};

/** Actions on clusters. */
export const actionsPlugin: JupyterFrontEndPlugin<IClusterActions> = {
  id: 'dtrain-lab:actions',
  description: 'Provides what can be done with clusters.',
  autoStart: true,
  requires: [IClusters, ISelection],
  provides: IClusterActions,
  activate: (
    app: JupyterFrontEnd,
    clusters: IClusters,
    selection: ISelection
  ): IClusterActions =>
    new ClusterRequests(app.serviceManager.serverSettings, cluster => {
      clusters.add(cluster);
      selection.begin(cluster.id);
    })
};

/** Keeps advice dismissed after a reload. */
async function remember(selection: Selection, state: IStateDB): Promise<void> {
  const key = 'dtrain-lab:dismissed';
  const known = await state.fetch(key);
  if (Array.isArray(known)) {
    selection.restoreDismissed(known.map(String));
  }
  let saved = String(selection.dismissed);
  selection.changed.connect(() => {
    const now = String(selection.dismissed);
    if (now !== saved) {
      saved = now;
      void state.save(key, [...selection.dismissed]);
    }
  });
}
