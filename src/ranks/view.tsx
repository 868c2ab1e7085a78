import { ISignal } from '@lumino/signaling';
import React from 'react';

import { ShownAdvice } from '../cluster/advice/shownAdvice';
import { useChanges } from '../ui/useChanges';
import { formatClock } from '../metrics/format';
import { ranksIcon } from '../ui/icons/viewIcons';
import { useViewState } from '../ui/viewState';
import { openContextMenu } from '../ui/menu';
import { VisibleWidget } from '../ui/visibleWidget';
import { alarmOf } from '../verdicts/verdict';
import { Charts } from './charts/charts';
import { axisOf } from './charts/timeAxis';
import { Ended, StateHead } from './endedHead';
import { IViewProps } from './viewProps';
import { Ending, IEnding } from './model/ending';
import { ISnapshot, LastSnapshot } from './model/lastSnapshot';
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

function View(props: IViewProps): JSX.Element {
  const { id, model, selection, commands, trans } = props;
  const [choice, setChoice] = useViewState('choice', CHOICE);
  const [paused, setPaused] = useViewState<ISnapshot | null>('paused', null);
  useChanges(model, props.site, selection, props.adviceState);
  const live =
    model.link === 'lost'
      ? null
      : (model.clusters.find(c => c.id === id) ?? null);
  const shown = (choice.paused && paused) || props.snapshots.current;
  if (!shown) {
    return <Ended {...props} />;
  }
  const choose = (next: IChoice): void => {
    if (next.paused && !choice.paused) {
      setPaused(shown);
    }
    setChoice(next);
  };
  const { at } = shown;
  const ranks = listed(shown.cluster, trans);
  const cluster = { ...shown.cluster, ranks };
  const since = at - choice.minutes * 60_000;
  const points = shown.points.filter(p => p.at >= since);
  const rankMetrics = rankMetricsOf(cluster).filter(f =>
    passes(choice.filter, f.rank)
  );
  const earlier = shown.points.filter(p => p.at < since);
  const cut = model.link === 'lost';
  const over = !live && !cut;
  const axis = axisOf(points, earlier, choice.minutes, at, !live, trans);
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
    <div key="ranks" className="jp-DtrainRanks-ranks" data-over={!live}>
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
    </div>
  );
  return (
    <>
      <ViewHead
        cluster={cluster}
        live={live !== null}
        choice={choice}
        matching={rankMetrics.length}
        onChoose={choose}
        commands={commands}
        trans={trans}
      />
      <StateHead {...props} {...{ cluster, live, at }} />
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

/** Arguments of the command that opens a view. */
export interface IRanksArgs {
  id: string;
  name: string;
  /** Kept for a page that is loaded anew. */
  ended?: IEnding;
}

/** The Ranks view of one cluster, in the main area. Drawn only while visible. */
export class RanksView extends VisibleWidget {
  constructor(
    private _props: Omit<IViewProps, 'snapshots' | 'ending'> & {
      /** What a page has known before it was loaded anew. */
      ended: IEnding | null;
    }
  ) {
    super(() => _props.model.watch(), _props.trans);
    const { model, selection, trans, name, id } = _props;
    this._snapshots = new LastSnapshot(model, id);
    this._ending = new Ending(model, selection, id, _props.ended);
    this.id = `dtrain-lab-ranks-${id}`;
    this._ending.changed.connect(this._setTitle, this);
    this._setTitle();
    this.title.icon = ranksIcon;
    this.title.closable = true;
    this.addClass('jp-DtrainUi-view');
    this.node.setAttribute('aria-label', trans.__('Ranks of %1', name));
  }

  /** Arguments with which a restored layout opens it. */
  get args(): IRanksArgs {
    const { id, name } = this._props;
    const ended = this._ending.current;
    return { id, name, ...(ended ? { ended } : {}) };
  }

  /** Emitted when `args` have changed. */
  get argsChanged(): ISignal<unknown, void> {
    return this._ending.changed;
  }

  override dispose(): void {
    this._ending.dispose();
    this._snapshots.dispose();
    super.dispose();
  }

  /** The tab of a cluster that has ended says so, and when: others, as after *Start again*, may have the same name. */
  private _setTitle(): void {
    const { name, trans } = this._props;
    const ended = this._ending.current;
    this.title.label = !ended
      ? trans.__('Ranks: %1', name)
      : ended.at === null
        ? trans.__('Ranks: %1 (ended)', name)
        : trans.__('Ranks: %1 (ended %2)', name, formatClock(ended.at));
    this.title.caption = this.title.label;
    this.update();
  }

  protected draw(): JSX.Element {
    return (
      <View
        {...this._props}
        snapshots={this._snapshots}
        ending={this._ending}
      />
    );
  }

  private _ending: Ending;
  private _snapshots: LastSnapshot;
}
