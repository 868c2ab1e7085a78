import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { ENDED } from '../../api/states';
import { CommandIDs } from '../../commands';
import { Cluster, ILiveState, ISelection, ISite } from '../../tokens';
import { Glyph } from '../../ui/icons/glyph';
import { Icon } from '../../ui/icons/icon';
import { IMenuItem, MenuButton, openContextMenu } from '../../ui/menu';
import { clusterGlyph, ranksText, stateWord } from '../../verdicts/sentence';
import { isHang } from '../../verdicts/verdict';

/** Actions for a cluster; those that are impossible now are left out. */
export function menuOfCluster(cluster: Cluster): IMenuItem[] {
  const { may, state } = cluster;
  const wanted: [string, boolean][] = [
    [CommandIDs.attachNotebook, may.length > 0 && !ENDED.includes(state)],
    [CommandIDs.interruptRanks, may.includes('interrupt')],
    [CommandIDs.restartRanks, may.includes('restart')],
    [CommandIDs.leaveOutRanks, cluster.lost.length > 0],
    [CommandIDs.resizeCluster, may.includes('restart')],
    [CommandIDs.showRanks, cluster.ranks.length > 0],
    [CommandIDs.showStacks, may.includes('stacks')],
    [CommandIDs.diagnose, may.includes('stacks')],
    [CommandIDs.ignoreVerdict, cluster.metrics.verdicts.some(isHang)],
    [CommandIDs.copyReport, true],
    [CommandIDs.stopCluster, may.includes('stop') || may.includes('remove')]
  ];
  const args = { id: cluster.id, ask: true };
  return wanted.filter(w => w[1]).map(([command]) => ({ command, args }));
}

/** Clusters in the list: all of them, and the selected one even if it has ended. */
export function listedClusters(
  model: ILiveState,
  selection: ISelection
): Cluster[] {
  const chosen = selection.cluster?.id;
  return [
    ...model.clusters,
    ...selection.ended.filter(
      c => c.id === chosen && !model.clusters.some(m => m.id === c.id)
    )
  ];
}

interface IListProps {
  model: ILiveState;
  site: ISite;
  selection: ISelection;
  commands: CommandRegistry;
  trans: TranslationBundle;
  /** No actions: read permission only, or no server. */
  disabled: boolean;
}

/** Clusters that have ended and are not shown above, folded: each can be started again. */
export function StoppedClusters(props: IListProps): JSX.Element | null {
  const { model, selection, trans } = props;
  const above = new Set(listedClusters(model, selection).map(c => c.id));
  // only those whose end the server has reported: of others, it is only known that they are gone
  const stopped = selection.ended.filter(
    c =>
      !above.has(c.id) && (c.reason || typeof c.summary.values.at === 'number')
  );
  return stopped.length ? (
    <details className="jp-DtrainCluster-stopped">
      <summary>
        {trans._n('%1 stopped cluster', '%1 stopped clusters', stopped.length)}
      </summary>
      <ClusterList {...props} clusters={stopped.reverse()} />
    </details>
  ) : null;
}

/** Clusters, each to be selected. */
export function ClusterList(
  props: IListProps & { clusters: readonly Cluster[] }
): JSX.Element {
  const { site, selection, commands, trans } = props;
  const selected = selection.cluster;
  const readOnly = site.facts?.may_write === false;
  // for all of them or for none
  const profiles = props.clusters.some(c => c.profile !== c.name.split('-')[0]);
  const sub = ({ world, profile }: Cluster): string =>
    ranksText(world.size, trans) + (profiles ? ` · ${profile}` : '');
  return (
    <ul className="jp-DtrainUi-list">
      {props.clusters.map(cluster => (
        <li
          key={cluster.id}
          data-selected={cluster.id === selected?.id || undefined}
          onContextMenu={event =>
            openContextMenu(event, commands, menuOfCluster(cluster))
          }
        >
          <button
            type="button"
            className="jp-DtrainUi-listItem"
            aria-pressed={cluster.id === selected?.id}
            onClick={() => selection.select(cluster.id)}
          >
            <Glyph
              kind={clusterGlyph(cluster)}
              label={stateWord(cluster.state, trans)}
            />
            <b title={cluster.name}>{cluster.name}</b>
            <span className="jp-DtrainUi-under" title={sub(cluster)}>
              {sub(cluster)}
            </span>
          </button>
          {readOnly && <Icon kind="lock" />}
          {!props.disabled && (
            <MenuButton
              label={trans.__('Actions of %1', cluster.name)}
              className="jp-DtrainCluster-more"
              commands={commands}
              items={() => menuOfCluster(cluster)}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

/** Number of clusters per state: "1 running", "1 degraded · 2 running". */
export function countOf(
  clusters: readonly Cluster[],
  trans: TranslationBundle
): string {
  const words: Partial<Record<Cluster['state'], string>> = {
    failed: trans.__('failed'),
    degraded: trans.__('degraded'),
    pending: trans.__('waiting'),
    starting: trans.__('starting'),
    connecting: trans.__('starting'),
    stopping: trans.__('stopping'),
    stopped: trans.__('stopped')
  };
  const order = [...Object.values(words), trans.__('running')];
  const counts = new Map<string, number>();
  for (const { state } of clusters) {
    const word = words[state] ?? trans.__('running');
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  if (!counts.size) {
    return trans.__('none');
  }
  return [...counts]
    .sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
    .map(([word, count]) => `${count} ${word}`)
    .join(' · ');
}
