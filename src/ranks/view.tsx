import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { ENDING } from '../api/states';
import { ClusterHead, ShownAdvice } from '../cluster/card/card';
import {
  Cluster,
  IAdviceState,
  ILiveState,
  IPoint,
  ISelection,
  ISite
} from '../tokens';
import { useChanges } from '../ui/useChanges';
import { formatClock } from '../metrics/format';
import { ranksIcon } from '../ui/icons/viewIcons';
import { useViewState, useViewStateRef } from '../ui/viewState';
import { openContextMenu } from '../ui/menu';
import { VisibleWidget } from '../ui/visibleWidget';
import { alarmOf } from '../verdicts/verdict';
import { Charts } from './charts/charts';
import { axisOf } from './charts/timeAxis';
import { rankMetricsOf, passes } from './model/rankMetrics';
import { IChoice, ViewHead } from './viewHeader';
import { Maps } from './maps';
import { menuOfRanks } from './rankMenu';
import { MoreMetrics } from './moreMetrics';
import { RankTable } from './table/table';
import { OwnValues } from './charts/loggedValues';
import { listed } from './model/texts';

const CHOICE: IChoice = {
  filter: '',
  minutes: 5,
  order: 'node',
  paused: false
};

interface IViewProps {
  adviceState: IAdviceState;
  id: string;
  /** The latest data that came while the view was hidden; null if it was not. */
  whileHidden: () => ISnapshot | null;
  model: ILiveState;
  site: ISite;
  selection: ISelection;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

interface ISnapshot {
  cluster: Cluster;
  points: readonly IPoint[];
  at: number;
}

/** State of an ending cluster, with the last activity of its ranks. */
function atItsEnd(before: ISnapshot, cluster: Cluster): ISnapshot {
  return { ...before, cluster: { ...cluster, ranks: before.cluster.ranks } };
}

function View(props: IViewProps): JSX.Element {
  const { id, model, selection, commands, trans } = props;
  const [choice, setChoice] = useViewState('choice', CHOICE);
  const frozen = useViewStateRef<ISnapshot | null>('frozen', null);
  useChanges(model, props.site, selection, props.adviceState);
  const live =
    model.link === 'lost'
      ? null
      : (model.clusters.find(c => c.id === id) ?? null);
  const whileHidden = props.whileHidden();
  if (live && !(choice.paused && frozen.current)) {
    frozen.current =
      frozen.current && ENDING.includes(live.state)
        ? atItsEnd(frozen.current, live)
        : { cluster: live, points: [...model.history(id)], at: Date.now() };
  } else if (
    whileHidden &&
    !choice.paused &&
    whileHidden.at > (frozen.current?.at ?? -Infinity)
  ) {
    frozen.current = whileHidden;
  }
  const shown = frozen.current;
  if (!shown) {
    return (
      <p className="jp-DtrainUi-note">{trans.__('This cluster has ended.')}</p>
    );
  }
  const { at } = shown;
  const ranks = listed(shown.cluster, trans);
  const cluster = { ...shown.cluster, ranks };
  const since = at - choice.minutes * 60_000;
  const points = shown.points.filter(p => p.at >= since);
  const rankMetrics = rankMetricsOf(cluster).filter(f =>
    passes(choice.filter, f.rank)
  );
  const earlier = shown.points.filter(p => p.at < since);
  const over = !live && model.link !== 'lost';
  const axis = axisOf(points, earlier, choice.minutes, at, over, trans);
  const menu = (
    event: React.MouseEvent<HTMLElement>,
    ranks: readonly number[]
  ): void => openContextMenu(event, commands, menuOfRanks(cluster, ranks));
  const shared = {
    rankMetrics,
    selected: selection.rank,
    onSelect: (rank: number): void => selection.selectRank(rank),
    onMenu: menu,
    trans
  };
  const charts = [
    <Charts key="charts" {...{ cluster, points, axis, trans }} />,
    <OwnValues
      key="values"
      points={shown.points}
      {...{ cluster, axis, trans }}
    />
  ];
  const ranksPart = (
    <React.Fragment key="ranks">
      {rankMetrics.length > 0 ? (
        <>
          <Maps {...shared} {...{ cluster, points, axis, choice, over }} />
          <RankTable {...shared} alarm={alarmOf(cluster.metrics)} />
        </>
      ) : (
        <p className="jp-DtrainUi-under" role="status">
          {trans.__('No rank matches "%1".', choice.filter)}
        </p>
      )}
    </React.Fragment>
  );
  return (
    <>
      <ViewHead
        cluster={cluster}
        live={live !== null}
        choice={choice}
        matching={rankMetrics.length}
        onChoose={setChoice}
        commands={commands}
        trans={trans}
      />
      {!live && (
        <p className="jp-DtrainUi-note" role="status">
          {model.link === 'lost'
            ? trans.__(
                'No connection to the server. These values are from %1.',
                formatClock(at, true)
              )
            : trans.__(
                'This cluster has ended. These values are from %1.',
                formatClock(at, true)
              )}
        </p>
      )}
      <ClusterHead
        ignored={model.ignored(cluster.id)}
        profiles={props.site.profiles}
        cluster={live ?? { ...cluster, may: [] }}
        commands={commands}
        trans={trans}
        now={Date.now()}
      />
      {live && (
        // an ended cluster can't be measured or changed
        <ShownAdvice
          cluster={cluster}
          adviceState={props.adviceState}
          commands={commands}
          trans={trans}
        />
      )}
      {
        // searched ranks come first: below the charts they would be out of view
        choice.filter ? [ranksPart, ...charts] : [...charts, ranksPart]
      }
      <MoreMetrics {...{ cluster, points, axis, trans }} />
    </>
  );
}

/** The Ranks view of one cluster, in the main area. Drawn only while visible. */
export class RanksView extends VisibleWidget {
  constructor(
    private _props: Omit<IViewProps, 'whileHidden'> & { name: string }
  ) {
    super(
      (seen, viewer) => _props.model.setVisible(seen, viewer),
      _props.trans
    );
    _props.model.changed.connect(this._storeWhileHidden, this);
    const { trans, name, id } = _props;
    this.id = `dtrain-lab-ranks-${id}`;
    this.title.label = trans.__('Ranks: %1', name);
    this.title.icon = ranksIcon;
    this.title.closable = true;
    this.addClass('jp-DtrainUi-view');
    this.node.setAttribute('aria-label', trans.__('Ranks of %1', name));
  }

  /** Arguments with which a restored layout opens it. */
  get args(): { id: string; name: string } {
    return { id: this._props.id, name: this._props.name };
  }

  override dispose(): void {
    this._props.model.changed.disconnect(this._storeWhileHidden, this);
    super.dispose();
  }

  protected draw(): JSX.Element {
    return <View {...this._props} whileHidden={() => this._whileHidden} />;
  }

  /** A cluster may end while this is hidden: its metrics are gone then, and shown when this is visible again. */
  private _storeWhileHidden(): void {
    const { id, model } = this._props;
    const cluster = model.clusters.find(c => c.id === id);
    if (this.drawn || !cluster) {
      return;
    }
    // not copied: an ended cluster's points don't change any more
    const now = { cluster, points: model.history(id), at: Date.now() };
    this._whileHidden =
      this._whileHidden && ENDING.includes(cluster.state)
        ? atItsEnd(this._whileHidden, cluster)
        : now;
  }

  private _whileHidden: ISnapshot | null = null;
}
