import { Cluster, ILiveState, Job, Verdict } from '../../tokens';
import { alarmOf } from '../../verdicts/verdict';
import { DebugView, RankView } from './model';

/** A rank as the sidebar shows it. */
export interface IShownRank extends RankView {
  /** Code of the head's verdict, if others wait for it. */
  stuck?: string;
}

/** The ranks as the sidebar shows them. */
export interface IShownView extends DebugView {
  ranks: IShownRank[];
}

/** What the server reports of the cluster or job that is debugged. */
export interface IDebuggedWorld {
  /** Name of the job; null for a cluster, which the notebook's toolbar names. */
  job: string | null;
  /** Why its ranks don't continue by themselves; null if they do. */
  alarm: Verdict | null;
  /** An alarm that the user has put aside: ranks wait as before. */
  ignored: Verdict | null;
}

/** How a notebook whose debugger was refused gets at the ranks that another notebook debugs. */
export interface ITakeOver {
  /** Name of the open notebook that debugs them; null if it is not in this window, or none does any more. */
  holder: () => Promise<string | null>;
  /** Ranks that are paused there, and would run on. */
  paused: () => readonly number[];
  /** Debug them here; where some are paused, show the notebook in which they are. Without a holder, try again. */
  execute: () => Promise<void>;
}

/** What of the live state tells of the debugged world. */
type IWorlds = Pick<ILiveState, 'clusters' | 'jobs' | 'ignored'>;

/** The cluster or job that is debugged; without name and alarm while the server doesn't report it. */
export function worldOf(
  worlds: IWorlds,
  view: Pick<DebugView, 'world'> | null
): IDebuggedWorld {
  const { clusters, jobs } = worlds;
  const its = (world: Cluster | Job): boolean => world.id === view?.world;
  const job = jobs.find(its);
  const metrics = (clusters.find(its) ?? job)?.metrics;
  return {
    job: job?.name ?? null,
    alarm: metrics ? alarmOf(metrics) : null,
    ignored: view ? worlds.ignored(view.world) : null
  };
}

/** Whether a debugger holds ranks, also one that this page is not connected to. */
export function areAnyHeld({
  clusters,
  jobs
}: Pick<ILiveState, 'clusters' | 'jobs'>): boolean {
  return [...clusters, ...jobs].some(({ ranks }) =>
    ranks.some(rank => rank.state === 'paused')
  );
}

/**
 * Add the head's verdict to the debugger's view.
 *
 * The debugger asks ranks for their positions only while one is paused: of ranks that are stuck otherwise, it
 * knows only that they run. The head watches them all the time.
 */
export function withAlarm(
  view: DebugView,
  { alarm, ignored }: Pick<IDebuggedWorld, 'alarm' | 'ignored'>
): IShownView {
  const verdict = alarm ?? ignored;
  if (!verdict || view.code !== 'running') {
    return view;
  }
  const { operation, sequence } = verdict;
  const waits = {
    name: operation ?? '',
    sequence,
    ranks: [],
    shape: null
  };
  const ranks = view.ranks.map(rank => {
    if (rank.phase !== 'running') {
      return rank;
    }
    return alarm?.ranks.includes(rank.rank)
      ? { ...rank, stuck: alarm.code }
      : verdict.peers.includes(rank.rank)
        ? { ...rank, operation: rank.operation ?? waits }
        : rank;
  });
  return alarm
    ? { ...view, code: alarm.code, sentence: alarm.text, ranks }
    : { ...view, ranks };
}
