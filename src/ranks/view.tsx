import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useReducer, useRef, useState } from 'react';

import { ClusterHead } from '../cluster/card';
import { CommandIDs } from '../commands';
import { Cluster, IClusters, IPoint } from '../tokens';
import {
  formatGiB,
  formatMegabytes,
  formatRate,
  formatShare,
  formatTime
} from '../ui/format';
import { distributedIcon } from '../ui/icons';
import { openContextMenu } from '../ui/menu';
import { AdviceLine } from '../ui/advice';
import { SeenWidget } from '../ui/seen';
import { IMark, TimeChart } from './chart';
import {
  figuresOf,
  ownTimes,
  hasNetwork,
  heatOf,
  median,
  passes,
  rebuilds
} from './figures';
import { HeatMap } from './heat';
import { RankMap } from './map';
import { menuOfRanks } from './menu';
import { NodeGrid } from './nodes';
import { StepParts } from './parts';
import { MOST_SQUARES } from './rows';
import { RankTable } from './table';
import { OwnValues } from './values';

const MINUTES = [1, 5, 15, 60];
const HEAT_COLUMNS = 100;

interface IViewProps {
  id: string;
  model: IClusters;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

interface ISnapshot {
  cluster: Cluster;
  points: readonly IPoint[];
}

function View(props: IViewProps): JSX.Element {
  const { id, model, commands, trans } = props;
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [filter, setFilter] = useState('');
  const [minutes, setMinutes] = useState(5);
  const [paused, setPaused] = useState(false);
  const frozen = useRef<ISnapshot | null>(null);
  useEffect(() => {
    model.changed.connect(redraw);
    return () => {
      model.changed.disconnect(redraw);
    };
  }, [model]);
  const live = model.clusters.find(c => c.id === id) ?? null;
  if (live && !(paused && frozen.current)) {
    frozen.current = { cluster: live, points: [...model.history(id)] };
  }
  const shown = frozen.current;
  if (!shown) {
    return (
      <p className="jp-Dtrain-note">{trans.__('This cluster has ended.')}</p>
    );
  }
  const { cluster } = shown;
  const now = Date.now();
  const since = now - minutes * 60_000;
  const points = shown.points.filter(p => p.at >= since);
  const all = figuresOf(cluster);
  const figures = all.filter(f => passes(filter, f.rank));
  const select = (rank: number): void => model.selectRank(rank);
  const menu = (
    event: React.MouseEvent<HTMLElement>,
    ranks: readonly number[]
  ): void => openContextMenu(event, commands, menuOfRanks(cluster, ranks));
  const { slowFrom } = model.preferences;
  return (
    <>
      <div className="jp-Dtrain-viewHead">
        <b>{cluster.name}</b>
        <span className="jp-Dtrain-under">
          {trans._n('%1 rank', '%1 ranks', cluster.world.size)} ·{' '}
          {trans._n('%1 node', '%1 nodes', cluster.nodes.length)} ·{' '}
          {cluster.profile}
        </span>
        <input
          type="search"
          value={filter}
          placeholder={trans.__('0-7, gpu-03, slow, …')}
          aria-label={trans.__('Filter ranks')}
          onChange={event => setFilter(event.target.value)}
        />
        <select
          value={minutes}
          aria-label={trans.__('Time window')}
          onChange={event => setMinutes(Number(event.target.value))}
        >
          {MINUTES.map(m => (
            <option key={m} value={m}>
              {m === 60 ? trans.__('Last hour') : trans.__('Last %1 min', m)}
            </option>
          ))}
        </select>
        <button
          type="button"
          className="jp-Dtrain-button"
          aria-pressed={paused}
          onClick={() => setPaused(!paused)}
        >
          {paused ? trans.__('Go on') : trans.__('Pause')}
        </button>
        <button
          type="button"
          className="jp-Dtrain-button"
          disabled={!live?.may.includes('stacks')}
          onClick={() => void commands.execute(CommandIDs.showStacks, { id })}
        >
          {trans.__('Stacks')}
        </button>
        <button
          type="button"
          className="jp-Dtrain-button"
          disabled={!live?.may.includes('stacks')}
          title={trans.__(
            'Measure a step without communication, and one without its data'
          )}
          onClick={() => void commands.execute(CommandIDs.diagnose, { id })}
        >
          {trans.__('Diagnose')}
        </button>
        <select
          value=""
          aria-label={trans.__('Export the past')}
          onChange={event => save(model.exportUrl(id, formatOf(event)))}
        >
          <option value="">{trans.__('Export…')}</option>
          <option value="csv">CSV</option>
          <option value="json">JSON</option>
          <option value="tensorboard">TensorBoard</option>
        </select>
      </div>
      <ClusterHead
        cluster={live ?? { ...cluster, may: [] }}
        commands={commands}
        trans={trans}
        now={Date.now()}
      />
      <StepParts metrics={cluster.metrics} trans={trans} />
      <AdviceLine metrics={cluster.metrics} trans={trans} />
      <Charts {...{ cluster, points, minutes, trans }} />
      <OwnValues
        points={points}
        marks={marksOf(points, trans)}
        window={minutes * 60}
        trans={trans}
      />
      <div className="jp-Dtrain-maps">
        <section aria-label={trans.__('Own step time over time')}>
          <h3>
            {trans.__(
              'Own step time against the median of all ranks (%1)',
              formatTime(median(all.flatMap(f => f.own ?? [])))
            )}
            <span className="jp-Dtrain-scale">
              −6 % <i /> +20 %
            </span>
          </h3>
          <HeatMap
            heat={heatOf(
              cluster,
              points,
              figures.map(f => f.rank.rank),
              HEAT_COLUMNS,
              since,
              now
            )}
            selected={model.selectedRank}
            summary={slowest(all, trans)}
          />
        </section>
        <section aria-label={trans.__('Now, by node')}>
          <h3>{trans.__('Now, by node')}</h3>
          {figures.length > MOST_SQUARES ? (
            <RankMap
              ranks={figures.map(f => f.rank)}
              middle={ownTimes(cluster.ranks).middle}
              columns={32}
              selected={model.selectedRank}
              onSelect={select}
              summary={slowest(all, trans)}
            />
          ) : (
            <NodeGrid
              figures={figures}
              nodes={cluster.nodes}
              selected={model.selectedRank}
              onSelect={select}
              onMenu={menu}
              trans={trans}
            />
          )}
        </section>
      </div>
      <RankTable
        figures={figures}
        selected={model.selectedRank}
        onSelect={select}
        onMenu={menu}
        slowFrom={slowFrom}
        trans={trans}
      />
    </>
  );
}

function slowest(
  figures: ReturnType<typeof figuresOf>,
  trans: TranslationBundle
): string {
  const known = figures.filter(f => f.over !== null);
  if (!known.length) {
    return trans.__('Own step time: nothing is known yet.');
  }
  const worst = known.reduce((a, b) => (b.over! > a.over! ? b : a));
  return trans.__(
    'Own step time: rank %1 is the slowest, %2 above the median.',
    worst.rank.rank,
    formatShare(worst.over)
  );
}

type Format = 'csv' | 'json' | 'tensorboard';

function formatOf(event: React.ChangeEvent<HTMLSelectElement>): Format {
  return event.target.value as Format;
}

/** Have the browser keep a file. */
function save(url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = '';
  link.click();
}

function marksOf(points: readonly IPoint[], trans: TranslationBundle): IMark[] {
  return [
    ...rebuilds(points).map(at => ({ at, label: trans.__('rebuilt') })),
    ...points.flatMap(({ at, slowed }) =>
      slowed.map(rank => ({ at, label: trans.__('rank %1 slow', rank) }))
    )
  ];
}

function Charts(props: {
  cluster: Cluster;
  points: readonly IPoint[];
  minutes: number;
  trans: TranslationBundle;
}): JSX.Element {
  const { cluster, points, trans } = props;
  const { metrics } = cluster;
  const error = metrics.comm_overhead_error;
  const common = {
    times: points.map(p => p.at),
    marks: marksOf(points, trans),
    window: props.minutes * 60
  };
  const rate = formatRate(metrics.samples_per_s);
  const share = formatShare(metrics.comm_overhead);
  const memory = points[points.length - 1]?.memory ?? null;
  return (
    <div className="jp-Dtrain-charts">
      <section>
        <h3>
          {trans.__('Throughput')}
          <span>
            <b>{rate}</b> {throughputText(metrics, trans)}
          </span>
        </h3>
        <TimeChart
          {...common}
          series={[
            {
              label: trans.__('samples/s'),
              values: points.map(p => p.samples),
              colour: '--jp-brand-color1'
            }
          ]}
          format={formatRate}
          summary={trans.__('Throughput: %1 samples per second now', rate)}
        />
      </section>
      <section>
        <h3>
          {trans.__('Communication')}
          <span>
            <b>{share}</b>{' '}
            {metrics.comm_bound === 'lower'
              ? trans.__('of the step, or more')
              : error
                ? trans.__(
                    '± %1 of the step',
                    Math.max(1, Math.round(error * 100))
                  )
                : trans.__('of the step')}
          </span>
        </h3>
        <TimeChart
          {...common}
          series={[
            {
              label: trans.__('with waiting'),
              values: points.map(p => p.overhead),
              colour: '--jp-warn-color1',
              filled: true
            },
            {
              label: trans.__('transfer'),
              values: points.map(p =>
                p.overhead === null ? null : p.overhead - (p.waiting ?? 0)
              ),
              colour: '--jp-brand-color1',
              filled: true
            }
          ]}
          format={formatShare}
          summary={trans.__('Communication: %1 of the step now', share)}
        />
      </section>
      <section>
        <h3>
          {trans.__('Memory')}
          <span>
            <b>{formatGiB(memory)}</b> {trans.__('GiB, the rank with most')}
          </span>
        </h3>
        <TimeChart
          {...common}
          series={[
            {
              label: trans.__('memory'),
              values: points.map(p => p.memory),
              colour: '--jp-success-color1'
            }
          ]}
          format={formatGiB}
          summary={trans.__('Memory: %1 GiB now', formatGiB(memory))}
        />
      </section>
      {hasNetwork(cluster) && <NetworkChart {...{ points, common, trans }} />}
    </div>
  );
}

/** What the nodes tell each other: the busiest, and the one in the middle. */
function NetworkChart(props: {
  points: readonly IPoint[];
  common: { times: number[]; marks: IMark[]; window: number };
  trans: TranslationBundle;
}): JSX.Element {
  const { points, trans } = props;
  const most = points.map(p => p.network);
  const now = formatMegabytes(most[most.length - 1] ?? null);
  return (
    <section>
      <h3>
        {trans.__('Network')}
        <span>
          <b>{now}</b> {trans.__('MB/s, the node with most')}
        </span>
      </h3>
      <TimeChart
        {...props.common}
        series={[
          {
            label: trans.__('the busiest node'),
            values: most,
            colour: '--jp-brand-color1'
          },
          {
            label: trans.__('half of the nodes'),
            values: points.map(p => p.networkMiddle),
            colour: '--jp-ui-font-color2'
          }
        ]}
        format={formatMegabytes}
        summary={trans.__('Network: %1 MB/s now', now)}
      />
    </section>
  );
}

/** What stands beside the rate; "(?)" where samples or steps are a guess. */
function throughputText(
  metrics: Cluster['metrics'],
  trans: TranslationBundle
): string {
  const { tokens_per_s, epoch, step_s, unsure } = metrics;
  return [
    unsure ? trans.__('samples/s (a guess)') : trans.__('samples/s'),
    tokens_per_s !== null && trans.__('%1 tokens/s', formatRate(tokens_per_s)),
    epoch !== null && epochText(epoch, trans),
    step_s !== null && trans.__('step %1', formatTime(step_s))
  ]
    .filter(Boolean)
    .join(' · ');
}

function epochText(
  epoch: NonNullable<Cluster['metrics']['epoch']>,
  trans: TranslationBundle
): string {
  return epoch.total === null
    ? trans.__('epoch %1, batch %2', epoch.number, epoch.done)
    : trans.__(
        'epoch %1: %2',
        epoch.number,
        formatShare(epoch.done / epoch.total)
      );
}

/** The Ranks view of one cluster, in the main area. Drawn only while it is seen. */
export class RanksView extends SeenWidget {
  constructor(private _props: IViewProps & { name: string }) {
    super((seen, viewer) => _props.model.setVisible(seen, viewer));
    const { trans, name, id } = _props;
    this.id = `dtrain-lab-ranks-${id}`;
    this.title.label = trans.__('Ranks: %1', name);
    this.title.icon = distributedIcon;
    this.title.closable = true;
    this.addClass('jp-Dtrain-view');
    this.node.setAttribute('aria-label', trans.__('Ranks of %1', name));
  }

  /** What a restored layout opens it with. */
  get args(): { id: string; name: string } {
    return { id: this._props.id, name: this._props.name };
  }

  protected render(): JSX.Element | null {
    return this.seen ? <View {...this._props} /> : null;
  }
}
