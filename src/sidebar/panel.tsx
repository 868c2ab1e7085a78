import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Message } from '@lumino/messaging';
import React, { useRef } from 'react';

import { ENDED } from '../api/states';
import { jobNote, JobSection } from '../job/list/sidebarSection';
import { PANEL_ID } from '../locations/visibility';
import {
  IAdviceState,
  IKernelRecords,
  ILiveState,
  ISelection,
  ISite,
  ISweeps
} from '../tokens';
import { useChanges } from '../ui/useChanges';
import { formatClock } from '../metrics/format';
import { distributedIcon } from '../ui/icons/icons';
import { useViewState, useViewScroll } from '../ui/viewState';
import { Section } from '../ui/section';
import { VisibleWidget } from '../ui/visibleWidget';
import {
  Disconnected,
  KernelLacks,
  OfNotebook,
  ReadOnly
} from '../cluster/card/banners';
import { ClusterCard } from '../cluster/card/card';
import { Empty, NoJobs } from '../cluster/card/emptyState';
import {
  ClusterList,
  countOf,
  listedClusters,
  StoppedClusters
} from '../cluster/card/clusterList';
import { PastCard, PastEmpty, PastNoJobs } from '../cluster/card/pastClusters';
import { ProfileList } from '../cluster/profiles/list';
import { useFreshProfiles } from './freshProfiles';
import { RanksSection } from './ranksSection';
import { PanelToolbar } from './toolbar';

interface IPanelProps {
  model: ILiveState;
  site: ISite;
  selection: ISelection;
  adviceState: IAdviceState;
  records: IKernelRecords;
  sweeps: ISweeps | null;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Sections that the user has folded or opened. */
type Folds = Readonly<Record<string, boolean>>;

function Body(props: IPanelProps): JSX.Element {
  const { model, site, selection, commands, trans } = props;
  const [folds, setFolds] = useViewState<Folds>('folds', {});
  const body = useRef<HTMLDivElement>(null);
  useViewScroll('body', () => body.current);
  useChanges(model, site, selection, props.adviceState);
  useChanges(...(props.sweeps ? [{ changed: props.sweeps.seen }] : []));
  const section = (name: string, usually: boolean) => {
    const open = folds[name] ?? usually;
    return { open, onToggle: () => setFolds({ ...folds, [name]: !open }) };
  };
  const profiles = section('profiles', false);
  const readProfiles = useFreshProfiles(site, profiles.open);
  const selected = selection.cluster;
  const lost = model.link === 'lost';
  const mayWrite = site.facts?.may_write ?? false;
  const listed = listedClusters(model, selection);
  const living = selected && !ENDED.includes(selected.state) ? selected : null;
  return (
    <>
      <PanelToolbar {...props} />
      <div
        ref={body}
        className="jp-DtrainSidebar-body"
        data-stale={lost || undefined}
      >
        {lost && <Disconnected model={model} trans={trans} />}
        {selection.notebook.lacks && (
          <KernelLacks failure={selection.notebook.failure} trans={trans} />
        )}
        <Section
          title={trans.__('Clusters')}
          note={lost ? asOf(model, trans) : countOf(listed, trans)}
          {...section('clusters', true)}
        >
          {(model.clusters.length > 0 || selected) && (
            <ClusterList
              {...props}
              clusters={listed}
              disabled={lost || !mayWrite}
            />
          )}
          {site.facts && !mayWrite && selected && <ReadOnly trans={trans} />}
          {mayWrite && !lost && <OfNotebook {...props} />}
          <Shown {...props} />
          <StoppedClusters {...props} disabled={lost || !mayWrite} />
        </Section>
        {living && living.state !== 'pending' && (
          <RanksSection {...props} cluster={living} section={section} />
        )}
        <Section
          title={trans.__('Jobs')}
          note={
            lost && model.jobs.length
              ? asOf(model, trans)
              : jobNote(model, trans, props.sweeps?.stopping)
          }
          {...section('jobs', model.jobs.length > 0 || !selected)}
        >
          {model.jobs.length > 0 ? (
            <JobSection
              model={model}
              sweeps={props.sweeps}
              commands={commands}
              trans={trans}
            />
          ) : lost ? (
            <PastNoJobs lastFrameAt={model.lastFrameAt} trans={trans} />
          ) : (
            <NoJobs commands={commands} trans={trans} />
          )}
        </Section>
        <Section
          title={trans.__('Profiles')}
          note={site.profiles.length ? `${site.profiles.length}` : ''}
          {...profiles}
        >
          <ProfileList
            profiles={site.profiles}
            mayWrite={mayWrite && !lost}
            commands={commands}
            trans={trans}
            onEnter={readProfiles}
          />
        </Section>
      </div>
    </>
  );
}

/** The selected cluster; without one, how to start one. */
function Shown(props: IPanelProps): JSX.Element {
  const { model, site, selection, commands, trans } = props;
  const selected = selection.cluster;
  if (!selected && model.link === 'lost') {
    return <PastEmpty lastFrameAt={model.lastFrameAt} trans={trans} />;
  }
  if (!selected) {
    return (
      <Empty
        site={model.lastFrameAt ? site.facts : null}
        profiles={site.profiles}
        commands={commands}
        trans={trans}
      />
    );
  }
  const history = model.history(selected.id);
  if (model.link === 'lost') {
    return (
      <PastCard
        cluster={selected}
        history={history}
        lastFrameAt={model.lastFrameAt}
        trans={trans}
      />
    );
  }
  return (
    <ClusterCard
      cluster={selected}
      ignored={model.ignored(selected.id)}
      profiles={site.profiles}
      records={props.records}
      adviceState={props.adviceState}
      history={history}
      commands={commands}
      trans={trans}
      now={model.at}
    />
  );
}

function asOf(model: ILiveState, trans: TranslationBundle): string {
  return model.lastFrameAt
    ? trans.__('as of %1', formatClock(model.lastFrameAt, true))
    : '';
}

/** The sidebar. It requests and draws nothing while hidden. */
export class DistributedPanel extends VisibleWidget {
  constructor(private _props: IPanelProps) {
    const { model, trans } = _props;
    super(() => model.watch(), trans);
    this.id = PANEL_ID;
    this.addClass('jp-DtrainSidebar');
    this.title.icon = distributedIcon;
    this.title.caption = trans.__('Distributed');
    this.node.setAttribute('aria-label', trans.__('Distributed training'));
  }

  /** Focus the panel: the selected cluster, else its first button. */
  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.node.focus();
    this._seeksFirst = true;
    requestAnimationFrame(() => this._focusFirst());
  }

  /** As soon as it is drawn: until the server has answered, there is nothing to focus. */
  private _focusFirst(): void {
    if (!this._seeksFirst) {
      return;
    }
    const movedOn = document.activeElement !== this.node;
    const first = this._selected() ?? this._first();
    if (movedOn || (first && !this.node.querySelector('[aria-busy="true"]'))) {
      this._seeksFirst = false;
    }
    if (!movedOn && !this._seeksFirst) {
      first?.focus();
    }
  }

  /** Return the selected cluster's row, also one that is scrolled out of view; null without one. */
  private _selected(): HTMLElement | null {
    return this.node.querySelector(
      '.jp-DtrainUi-listItem[aria-pressed="true"]'
    );
  }

  /** Return the first element in view, so that the panel does not scroll; if there is none, the first of all. */
  private _first(): HTMLElement | null {
    const body = this.node.querySelector('.jp-DtrainSidebar-body') ?? this.node;
    const { top, bottom } = body.getBoundingClientRect();
    const isInView = (found: HTMLElement): boolean => {
      const box = found.getBoundingClientRect();
      return box.height > 0 && box.top >= top && box.bottom <= bottom;
    };
    const places = ['[aria-pressed="true"]', '.jp-mod-primary', 'button'];
    const all = places.flatMap(place => [
      ...body.querySelectorAll<HTMLElement>(place)
    ]);
    return all.find(isInView) ?? all[0] ?? null;
  }

  /** The focused element is gone, such as Start when a cluster starts. */
  protected override focusAgain(): void {
    this._first()?.focus();
  }

  protected override onDrawn(): void {
    super.onDrawn();
    this._focusFirst();
  }

  private _seeksFirst = false;

  protected draw(): JSX.Element {
    return <Body {...this._props} />;
  }
}
