import { TranslationBundle } from '@jupyterlab/translation';
import { searchIcon } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useReducer } from 'react';

import { CommandIDs } from '../../commands';
import { IJobs, ILiveState, ISite, ISweeps, Job } from '../../tokens';
import { FilterChips } from '../../ui/filterChips';
import { Glyph } from '../../ui/icons/glyph';
import { submitIcon } from '../../ui/icons/icons';
import { JobsPast, latestDataAt } from '../../ui/lastUpdate';
import { useViewState } from '../../ui/viewState';
import { sweepIcon } from '../../ui/icons/viewIcons';
import { whyNoJob } from '../model/executedPaths';
import { entriesOf, Entry, entryPasses, entryPassesText } from './entries';
import { JobTable } from './jobTable';
import { usePoll } from '../../ui/hooks/poll';
import { SlotsSection } from './slots';
import {
  unreadableSentence,
  useRemovals,
  useSweeps,
  useUnreadable
} from './sweeps';
import { JobFilter } from './filters';
import { activeSentence } from '../model/activeJobs';

export interface IJobsProps {
  model: ILiveState;
  site: ISite;
  jobs: IJobs;
  /** Null in a front end without sweeps. */
  sweeps: ISweeps | null;
  /** The notebook that would be submitted; null if there is none. */
  chosen: () => string | null;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Retry interval without a server, ms; known jobs stay. */
const LOOK_MS = 2000;

/** All jobs: recent ones from frames, and older ones. */
export function useJobs(
  model: ILiveState,
  jobs: IJobs,
  sweeps: ISweeps | null
): readonly Job[] {
  const [older, setOlder] = useViewState('older', jobs.lastAnswer);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    model.changed.connect(redraw);
    return () => {
      model.changed.disconnect(redraw);
    };
  }, [model]);
  const newest = model.jobs.map(j => j.id).join();
  const removals = useRemovals(sweeps);
  usePoll(`jobs ${removals} ${newest}`, LOOK_MS, async () => {
    setOlder(await jobs.all());
    return false; // frames report changes
  });
  const live = new Set(model.jobs.map(j => j.id));
  return [...model.jobs, ...older.filter(j => !live.has(j.id))];
}

/** The list in the main area. */
export function JobList(props: IJobsProps): JSX.Element {
  const { model, jobs, trans } = props;
  const listed = useJobs(model, jobs, props.sweeps);
  const sweeps = useSweeps(props.sweeps, listed, model.sweeps);
  const unreadable = useUnreadable(props.sweeps, sweeps?.length ?? 0);
  const all = entriesOf(listed, sweeps);
  const [text, setText] = useViewState('text', '');
  const [filter, setFilter] = useViewState<JobFilter>('filter', 'all');
  const found = all.filter(e => entryPassesText(e, text, trans));
  const count = (key: JobFilter): number =>
    found.filter(e => entryPasses(e, key)).length;
  const active = all.filter(e => entryPasses(e, 'active'));
  const sweepsActive = active.filter(e => e.kind === 'sweep').length;
  const counts = { jobs: active.length - sweepsActive, sweeps: sweepsActive };
  return (
    <>
      <JobsPast model={model} trans={trans} />
      <p className="jp-DtrainJob-sentenceLine" role="status">
        {all.length === 0
          ? trans.__('No jobs yet. Open a notebook, and choose Submit.')
          : active.length === 0
            ? trans.__('No job is active.')
            : activeSentence(counts, trans)}
      </p>
      <ListHead {...props} text={text} setText={setText} />
      <FilterChips<JobFilter>
        label={trans.__('State')}
        filters={filtersOf(all, filter, trans)}
        chosen={filter}
        count={count}
        choose={setFilter}
      />
      {all.length > 0 && (
        <JobTable
          {...props}
          entries={found.filter(e => entryPasses(e, filter))}
          known={listed}
          text={text}
          now={latestDataAt(model)}
        />
      )}
      {unreadable.map(sweep => (
        <p key={sweep.id} className="jp-DtrainJob-unreadable">
          <Glyph kind="failed" label={trans.__("Can't be read")} />
          {unreadableSentence(sweep, trans)}
        </p>
      ))}
      <SlotsSection {...props} />
    </>
  );
}

/** The filters by state: those of rare ends only where there are such, or while they are chosen. */
function filtersOf(
  all: readonly Entry[],
  chosen: JobFilter,
  trans: TranslationBundle
): [JobFilter, string][] {
  const rare: [JobFilter, string][] = [
    ['cancelled', trans.__('Cancelled')],
    ['stopped', trans.__('Stopped')],
    ['lost', trans.__('Lost')]
  ];
  return [
    ['all', trans.__('All')],
    ['active', trans.__('Active')],
    ['failed', trans.__('Failed')],
    ['succeeded', trans.__('Done')],
    ...rare.filter(
      ([key]) => key === chosen || all.some(e => entryPasses(e, key))
    )
  ];
}

/** Why the notebook that is open can't be submitted; null if it can. The commands say so when they are run. */
function useWhyNot({ chosen, commands, trans }: IJobsProps): string | null {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const look = (
      _: CommandRegistry,
      { id }: CommandRegistry.ICommandChangedArgs
    ): void => {
      if (id === CommandIDs.submitNotebook) {
        redraw(); // another notebook is open
      }
    };
    commands.commandChanged.connect(look);
    return () => {
      commands.commandChanged.disconnect(look);
    };
  }, [commands]);
  return whyNoJob(chosen(), trans);
}

/** The field that filters the list, and the buttons that add to it. */
function ListHead(
  props: IJobsProps & { text: string; setText: (text: string) => void }
): JSX.Element {
  const { commands, trans } = props;
  const why = useWhyNot(props) ?? undefined;
  return (
    <div className="jp-DtrainUi-viewHead jp-DtrainJob-listHead">
      <span className="jp-DtrainJob-search">
        <searchIcon.react tag="span" />
        <input
          type="search"
          value={props.text}
          placeholder={trans.__('Name, state, profile')}
          aria-label={trans.__('Filter jobs')}
          onChange={event => props.setText(event.target.value)}
        />
      </span>
      <button
        type="button"
        className="jp-DtrainUi-button jp-DtrainJob-send"
        aria-disabled={why ? true : undefined}
        title={why}
        onClick={() => void commands.execute(CommandIDs.submitNotebook)}
      >
        <submitIcon.react tag="span" />
        {trans.__('Submit…')}
      </button>
      {props.sweeps && commands.hasCommand(CommandIDs.sweepNotebook) && (
        <button
          type="button"
          className="jp-DtrainUi-button jp-DtrainJob-send"
          aria-disabled={why ? true : undefined}
          title={why}
          onClick={() => void commands.execute(CommandIDs.sweepNotebook)}
        >
          <sweepIcon.react tag="span" />
          {trans.__('Sweep…')}
        </button>
      )}
    </div>
  );
}
