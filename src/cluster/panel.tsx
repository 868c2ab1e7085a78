import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useReducer, useState } from 'react';

import { CommandIDs } from '../commands';
import { menuOfRanks } from '../ranks/menu';
import { JobSection } from '../job/list';
import { hasEnded } from '../job/words';
import { RankRows } from '../ranks/rows';
import { Cluster, IClusters } from '../tokens';
import { Glyph } from '../ui/glyph';
import { distributedIcon } from '../ui/icons';
import { IMenuItem, openContextMenu, openMenu } from '../ui/menu';
import { Section } from '../ui/section';
import { SeenWidget } from '../ui/seen';
import { clusterGlyph, stateWord } from '../ui/sentence';
import { ClusterCard } from './card';
import { Empty } from './empty';

interface IBodyProps {
  model: IClusters;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

function Body(props: IBodyProps): JSX.Element {
  const { model, commands, trans } = props;
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [closed, setClosed] = useState<readonly string[]>([]);
  useEffect(() => {
    model.changed.connect(redraw);
    return () => {
      model.changed.disconnect(redraw);
    };
  }, [model]);
  const section = (name: string) => ({
    open: !closed.includes(name),
    onToggle: () =>
      setClosed(
        closed.includes(name)
          ? closed.filter(n => n !== name)
          : [...closed, name]
      )
  });
  const { clusters, selected, site } = model;
  const lost = model.link === 'lost';
  const mayWrite = site?.may_write ?? false;
  return (
    <>
      <div className="jp-Dtrain-toolbar">
        <h1>{trans.__('Distributed')}</h1>
        {mayWrite && (
          <span>
            <button
              type="button"
              className="jp-Dtrain-tool"
              disabled={lost}
              onClick={() =>
                void commands.execute(CommandIDs.startCluster, { ask: true })
              }
            >
              <span aria-hidden="true">+</span> {trans.__('Start')}
            </button>
            <button
              type="button"
              className="jp-Dtrain-tool"
              disabled={lost}
              onClick={() => void commands.execute(CommandIDs.submitNotebook)}
            >
              {trans.__('Submit…')}
            </button>
          </span>
        )}
      </div>
      {lost && <Disconnected model={model} trans={trans} />}
      {model.kernelLacks && (
        <p className="jp-Dtrain-note" role="status">
          {trans.__("This notebook's kernel has no dtrain-lab. Run in a cell:")}{' '}
          <code>%pip install dtrain-lab</code>
        </p>
      )}
      {site && !mayWrite && selected && (
        <p className="jp-Dtrain-note">
          {trans.__('You can watch this cluster.')}
        </p>
      )}
      <div className="jp-Dtrain-body" data-stale={lost || undefined}>
        <Section
          title={trans.__('Clusters')}
          note={lost ? asOf(model, trans) : count(clusters, trans)}
          {...section('clusters')}
        >
          {clusters.length > 0 && (
            <ClusterList
              {...props}
              selected={selected}
              disabled={lost || !mayWrite}
            />
          )}
          {selected ? (
            <ClusterCard
              cluster={lost ? { ...selected, may: [] } : selected}
              history={model.history(selected.id)}
              commands={commands}
              trans={trans}
              now={Date.now()}
            />
          ) : (
            <Empty
              site={site}
              profiles={model.profiles}
              commands={commands}
              trans={trans}
            />
          )}
        </Section>
        {selected && selected.state !== 'pending' && (
          <Section
            title={trans.__('Ranks')}
            note={alive(selected, trans)}
            {...section('ranks')}
          >
            <RankRows
              cluster={selected}
              selected={model.selectedRank}
              onSelect={rank => model.selectRank(rank)}
              onMenu={(event, ranks) =>
                openContextMenu(event, commands, menuOfRanks(selected, ranks))
              }
              trans={trans}
            />
            <p className="jp-Dtrain-open">
              <button
                type="button"
                className="jp-Dtrain-button"
                onClick={() =>
                  void commands.execute(CommandIDs.showRanks, {
                    id: selected.id
                  })
                }
              >
                {trans.__('Open ranks view')}
              </button>
            </p>
          </Section>
        )}
        {model.jobs.length > 0 && (
          <Section
            title={trans.__('Jobs')}
            note={active(model, trans)}
            {...section('jobs')}
          >
            <JobSection model={model} commands={commands} trans={trans} />
          </Section>
        )}
      </div>
    </>
  );
}

function ClusterList(
  props: IBodyProps & { selected: Cluster | null; disabled: boolean }
): JSX.Element {
  const { model, commands, trans, selected } = props;
  const items = (cluster: Cluster): IMenuItem[] =>
    [
      CommandIDs.attachNotebook,
      CommandIDs.interruptRanks,
      CommandIDs.restartRanks,
      CommandIDs.resizeCluster,
      CommandIDs.showRanks,
      CommandIDs.showStacks,
      CommandIDs.copyReport,
      CommandIDs.stopCluster
    ].map(command => ({ command, args: { id: cluster.id, ask: true } }));
  return (
    <ul className="jp-Dtrain-list">
      {model.clusters.map(cluster => (
        <li
          key={cluster.id}
          data-selected={cluster === selected || undefined}
          onContextMenu={event =>
            openContextMenu(event, commands, items(cluster))
          }
        >
          <button
            type="button"
            className="jp-Dtrain-listItem"
            aria-pressed={cluster === selected}
            onClick={() => model.select(cluster.id)}
          >
            <Glyph
              kind={clusterGlyph(cluster)}
              label={stateWord(cluster.state, trans)}
            />
            <b>{cluster.name}</b>
            <span className="jp-Dtrain-under">
              {trans._n('%1 rank', '%1 ranks', cluster.world.size)}
              {cluster.profile !== cluster.name.split('-')[0]
                ? ` · ${cluster.profile}`
                : ''}
            </span>
          </button>
          {!props.disabled && (
            <button
              type="button"
              className="jp-Dtrain-more"
              aria-haspopup="menu"
              aria-label={trans.__('Actions of %1', cluster.name)}
              onClick={event => {
                const at = event.currentTarget.getBoundingClientRect();
                openMenu(commands, items(cluster), at.left, at.bottom);
              }}
            >
              ⋯
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Disconnected(props: {
  model: IClusters;
  trans: TranslationBundle;
}): JSX.Element {
  const { model, trans } = props;
  return (
    <div className="jp-Dtrain-warning" role="alert">
      <Glyph kind="off" label={trans.__('disconnected')} />
      <div>
        <b>{trans.__('No connection to the server.')}</b>
        <p>{trans.__('Your ranks go on; no output is lost.')}</p>
        <button
          type="button"
          className="jp-Dtrain-link"
          onClick={() => model.reconnect()}
        >
          {trans.__('Try now')}
        </button>
      </div>
    </div>
  );
}

function asOf(model: IClusters, trans: TranslationBundle): string {
  return model.seen
    ? trans.__('as of %1', model.seen.toLocaleTimeString())
    : '';
}

function count(clusters: readonly Cluster[], trans: TranslationBundle): string {
  const bad = clusters.filter(c => c.state === 'failed').length;
  if (bad) {
    return trans.__('%1 failed', bad);
  }
  return clusters.length ? trans.__('%1 running', clusters.length) : '';
}

function active(model: IClusters, trans: TranslationBundle): string {
  const count = model.jobs.filter(j => !hasEnded(j)).length;
  return count ? trans.__('%1 active', count) : '';
}

function alive(cluster: Cluster, trans: TranslationBundle): string {
  const living = cluster.ranks.filter(r => r.state !== 'lost').length;
  return trans.__('%1 of %2', living, cluster.ranks.length);
}

/** The sidebar. Nothing is sent or drawn while it is hidden. */
export class DistributedPanel extends SeenWidget {
  constructor(
    private _model: IClusters,
    private _commands: CommandRegistry,
    private _trans: TranslationBundle
  ) {
    super((seen, viewer) => _model.setVisible(seen, viewer));
    this.id = 'dtrain-lab-panel';
    this.title.icon = distributedIcon;
    this.title.caption = _trans.__('Distributed');
    this.node.setAttribute('aria-label', _trans.__('Distributed training'));
  }

  protected render(): JSX.Element | null {
    return this.seen ? (
      <Body model={this._model} commands={this._commands} trans={this._trans} />
    ) : null;
  }
}
