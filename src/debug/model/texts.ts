import { TranslationBundle } from '@jupyterlab/translation';

import { GlyphKind } from '../../verdicts/glyphKind';
import { blamedWord } from '../../verdicts/texts';
import { formatRanks, listed } from '../../metrics/format';
import { DebugView, RankView } from './model';
import { IShownRank, IShownView } from './world';

/** Whether the whole cluster or job has ended, which loses no rank. */
export function hasEnded(view: Pick<DebugView, 'code'>): boolean {
  return view.code === 'ended';
}

/**
 * The state of a rank under the debugger, as a shape.
 *
 * @param ended - whether its whole cluster has ended.
 */
export function glyphOf(rank: IShownRank, ended: boolean): GlyphKind {
  switch (rank.phase) {
    case 'paused':
      return 'paused';
    case 'gone':
      return ended ? 'stopped' : 'lost';
    case 'running':
      if (rank.stuck) {
        return 'stuck';
      }
      return rank.operation ? 'in collective' : 'busy';
    default:
      return 'idle';
  }
}

/** The notebook's knowledge of cells in which ranks are. */
export interface ICellLookup {
  /** "cell [7]"; the path if it is not open. */
  nameOfRanks(path: string): string;
  /** Ranks that run a cell; null if it does not run, or is unknown. */
  ranksOf(path: string): readonly number[] | null;
}

/** Ranks that have finished the cell in which others are. */
export function doneIn(
  view: Pick<DebugView, 'ranks'>,
  cells: ICellLookup
): ReadonlySet<number> {
  const paths = new Set(
    view.ranks.map(r => r.place?.file ?? '').filter(isCell)
  );
  const sent = new Set([...paths].flatMap(path => cells.ranksOf(path) ?? []));
  return new Set(
    view.ranks
      .filter(r => r.phase === 'idle' && sent.has(r.rank))
      .map(r => r.rank)
  );
}

/**
 * Where a rank is, in a few words: "cell [7], line 6", "model.py, line 42", "waits", "stuck", "runs".
 *
 * @param ended - whether its whole cluster has
 * @param done - ranks that have finished the cell in which others are
 */
export function placeOf(
  rank: IShownRank,
  ended: boolean,
  cells: ICellLookup,
  done: ReadonlySet<number>,
  trans: TranslationBundle
): string {
  if (rank.phase === 'gone') {
    return ended ? trans.__('ended') : trans.__('lost');
  }
  if (rank.phase === 'running') {
    if (rank.stuck) {
      return blamedWord(rank.stuck, trans);
    }
    return rank.operation ? trans.__('waits') : trans.__('runs');
  }
  if (rank.phase !== 'paused' || !rank.place) {
    return done.has(rank.rank)
      ? trans.__('has finished the cell')
      : trans.__('idle');
  }
  const { file, line } = rank.place;
  const name = isCell(file)
    ? cells.nameOfRanks(file)
    : file.slice(file.lastIndexOf('/') + 1);
  return rankLineOf({ path: file, name, line }, trans);
}

/** The line that a rank is in, as links name it: "cell [7], line 6", "model.py, line 42". */
export function rankLineOf(
  at: { path: string; name: string; line: number },
  trans: TranslationBundle
): string {
  return isCell(at.path)
    ? lineOf(at, trans)
    : trans.__('%1, line\u00a0%2', at.name, at.line);
}

/**
 * A line, the same wherever breakpoints name it: "cell [7], line 6", "model.py:42".
 *
 * @param at.name - the name of its cell, or the path if the cell is not open; the name of its file.
 */
export function lineOf(
  at: { path: string; name: string; line: number },
  trans: TranslationBundle
): string {
  const { path, name, line } = at;
  if (!isCell(path)) {
    return `${name}:${line}`;
  }
  return name === path
    ? trans.__('line\u00a0%1', line)
    : trans.__('%1, line\u00a0%2', name, line);
}

/** Whether this is the text of a cell, and not a user's file. */
export function isCell(path: string): boolean {
  return /\/ipykernel_[^/]*\/\d+\.py$/.test(path);
}

/**
 * The kernel's sentence in the user's language. A separate card below shows which ranks wait.
 *
 * @param started - whether the notebook's debugger is on: it has no ranks before its first distributed cell.
 * @param job - the name of the job that is or was debugged; null if it is not known.
 */
export function sentence(
  view: DebugView,
  started: boolean,
  trans: TranslationBundle,
  job: string | null = null
): string {
  const count = (phase: RankView['phase']): number =>
    view.ranks.filter(r => r.phase === phase).length;
  switch (view.code) {
    case 'off':
      if (!started) {
        return trans.__('The debugger is off.');
      }
      return view.notes.length // they say why, as that another notebook debugs the ranks
        ? trans.__('The debugger is not attached to the ranks.')
        : noRanks(trans);
    case 'off_ended':
      if (started) {
        return noRanks(trans);
      }
      return job === null
        ? trans.__('The job has ended. The debugger is off.')
        : trans.__('Job %1 has ended. The debugger is off.', job);
    case 'off_unwatched':
      if (started) {
        return noRanks(trans);
      }
      return job === null
        ? trans.__(
            'The job goes on, but its head has ended. The debugger is off.'
          )
        : trans.__(
            'Job %1 goes on, but its head has ended. The debugger is off.',
            job
          );
    case 'empty':
      return noRanks(trans);
    case 'ready':
      return trans._n(
        'Ready to debug %1 rank.',
        'Ready to debug %1 ranks.',
        view.ranks.length
      );
    case 'attaching':
      return trans._n(
        'Attaching to %1 rank…',
        'Attaching to %1 ranks…',
        view.ranks.length
      );
    case 'stepping':
      return [steppingText(view, trans), pausingText(view, trans)]
        .filter(Boolean)
        .join(' ');
    case 'bringing':
      return bringingText(view, trans);
    case 'pausing':
      return pausingText(view, trans);
    case 'running':
      return view.points.length && !view.reached
        ? trans._n(
            '%1 rank runs. No breakpoint has been reached yet.',
            '%1 ranks run. No breakpoint has been reached yet.',
            count('running')
          )
        : runningRanks(view, trans);
    case 'paused':
      return pausedText(view, count('paused'), trans);
    default:
      return view.sentence;
  }
}

/** How many ranks run, and how many of them wait in a collective. */
function runningRanks(
  { ranks }: Pick<DebugView, 'ranks'>,
  trans: TranslationBundle
): string {
  const running = ranks.filter(r => r.phase === 'running');
  const waiting = running.filter(r => r.operation).length;
  return waiting && waiting < running.length
    ? trans._n(
        '%2 ranks run; %1 of them waits.',
        '%2 ranks run; %1 of them wait.',
        waiting,
        running.length
      )
    : trans._n('%1 rank runs.', '%1 ranks run.', running.length);
}

/** Ranks that take the user's step. */
function steppingText(
  { stepping }: Pick<DebugView, 'stepping'>,
  trans: TranslationBundle
): string {
  return trans._n(
    'Stepping rank %2.',
    'Stepping ranks %2.',
    stepping.length,
    formatRanks(stepping)
  );
}

/** Ranks that the debugger steps to a collective, and whether they take long. */
function bringingText(
  { bringing, sentence }: Pick<DebugView, 'bringing' | 'sentence'>,
  trans: TranslationBundle
): string {
  if (!bringing) {
    return sentence;
  }
  const { ranks, waiting, name, late } = bringing;
  const where = trans._n(
    'rank %2 waits',
    'ranks %2 wait',
    waiting.length,
    formatRanks(waiting)
  );
  return late
    ? trans._n(
        'Rank %2 has not come to %3 yet, where %4. Pause ends the steps.',
        'Ranks %2 have not come to %3 yet, where %4. Pause ends the steps.',
        ranks.length,
        formatRanks(ranks),
        name,
        where
      )
    : trans._n(
        'Stepping rank %2 to %3, where %4.',
        'Stepping ranks %2 to %3, where %4.',
        ranks.length,
        formatRanks(ranks),
        name,
        where
      );
}

/** Ranks that are yet to pause; empty if none is. */
function pausingText(
  { pausing }: Pick<DebugView, 'pausing'>,
  trans: TranslationBundle
): string {
  return pausing.length
    ? trans._n(
        'Pausing rank %2: it stops when its current call returns.',
        'Pausing ranks %2: they stop when their current calls return.',
        pausing.length,
        formatRanks(pausing)
      )
    : '';
}

/** How many ranks are paused, at which error, and where it has interrupted others. */
function pausedText(
  view: DebugView,
  count: number,
  trans: TranslationBundle
): string {
  return [
    atErrorText(view, count, trans),
    interruptedText(view.interrupted, view.inside, trans)
  ]
    .filter(Boolean)
    .join(' ');
}

/** Ranks that stand where they were interrupted; empty if no rank does. */
function interruptedText(
  ranks: readonly number[],
  inside: readonly string[],
  trans: TranslationBundle
): string {
  if (!ranks.length) {
    return '';
  }
  const names = formatRanks(ranks);
  return inside.length
    ? trans._n(
        'Rank %2 was interrupted in %3.',
        'Ranks %2 were interrupted in %3.',
        ranks.length,
        names,
        listed(inside, trans)
      )
    : trans._n(
        'Rank %2 was interrupted.',
        'Ranks %2 were interrupted.',
        ranks.length,
        names
      );
}

function atErrorText(
  { error, raised }: Pick<DebugView, 'error' | 'raised'>,
  count: number,
  trans: TranslationBundle
): string {
  const closed = error.replace(/[^.!?…]$/, '$&.');
  if (error && raised.length === count) {
    return trans._n(
      'Paused on %1 rank: %2',
      'Paused on %1 ranks: %2',
      count,
      closed
    );
  }
  const paused = trans._n('Paused on %1 rank.', 'Paused on %1 ranks.', count);
  if (!error) {
    return paused;
  }
  const which = trans._n(
    'Rank %2 raised %3',
    'Ranks %2 raised %3',
    raised.length,
    formatRanks(raised),
    closed
  );
  return `${paused} ${which}`;
}

/** Whose variables are listed: those of the focused, paused rank, or the kernel's; empty without ranks. */
export function whoseVariables(
  view: Pick<DebugView, 'on' | 'focus' | 'ranks'> | null,
  trans: TranslationBundle
): string {
  const rank = view?.ranks.find(r => r.rank === view.focus);
  if (!view?.on || !view.ranks.length) {
    return '';
  }
  // must fit in one line: on a small screen, the section is hardly higher
  switch (rank?.phase) {
    case 'paused':
      return trans.__('Of rank %1:', rank.rank);
    case 'running':
      return rank.operation
        ? trans.__('Of the kernel, as rank %1 waits:', rank.rank)
        : trans.__('Of the kernel, as rank %1 runs:', rank.rank);
    default:
      return trans.__('Of the kernel, not of a rank:');
  }
}

/** The headline while the debugger is on and has no ranks. */
export function noRanks(trans: TranslationBundle): string {
  return trans.__('No ranks yet: run a %1 cell.', '%%distributed');
}

/**
 * The headline before the debugger of a notebook has told anything.
 *
 * @param known - whether the debugger is on: it has no ranks before its first distributed cell.
 * @param held - whether ranks are paused, and JupyterLab is not connected to a debugger yet, as after a reload.
 */
export function beforeRanks(
  known: boolean,
  held: boolean,
  trans: TranslationBundle
): string {
  if (held) {
    return trans.__(
      "Ranks are paused. They are listed here once their notebook's debugger is connected."
    );
  }
  return known
    ? noRanks(trans)
    : trans.__(
        "To see ranks here, turn the debugger on (the bug in the notebook's toolbar) and run a %1 cell.",
        '%%distributed'
      );
}

/** State of the ranks on which nothing was evaluated, as in the headline: "rank 0 runs, rank 1 waits". */
export function runningText(
  { running }: { running: readonly number[] },
  view: Pick<DebugView, 'ranks'> | null,
  trans: TranslationBundle
): string {
  const waiting = new Set(
    view?.ranks.filter(r => r.operation).map(r => r.rank)
  );
  const [wait, run] = [true, false].map(waits =>
    running.filter(rank => waiting.has(rank) === waits)
  );
  return [
    run.length &&
      trans._n('rank %2 runs', 'ranks %2 run', run.length, formatRanks(run)),
    wait.length &&
      trans._n('rank %2 waits', 'ranks %2 wait', wait.length, formatRanks(wait))
  ]
    .filter(Boolean)
    .join(', ');
}

/** Ranks grouped by place, for worlds with too many to show each. */
export function byPlace(
  view: IShownView,
  cells: ICellLookup,
  trans: TranslationBundle
): { place: string; glyph: GlyphKind; ranks: number[] }[] {
  const groups = new Map<
    string,
    { place: string; glyph: GlyphKind; ranks: number[] }
  >();
  const done = doneIn(view, cells);
  for (const rank of view.ranks) {
    const place = placeOf(rank, hasEnded(view), cells, done, trans);
    const glyph = glyphOf(rank, hasEnded(view));
    const group = groups.get(`${glyph} ${place}`) ?? {
      place,
      glyph,
      ranks: []
    };
    group.ranks.push(rank.rank);
    groups.set(`${glyph} ${place}`, group);
  }
  return [...groups.values()].sort((a, b) => b.ranks.length - a.ranks.length);
}
