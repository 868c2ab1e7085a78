import { Stack, StackFrame, Verdict } from '../tokens';

/** Consecutive frames that are all the user's own, or all of libraries. */
export interface IRun {
  library: boolean;
  frames: readonly StackFrame[];
}

/** Ranks whose main threads have the same stack. */
export interface IStackGroup {
  ranks: readonly number[];
  /** Whether others wait for at least one of them. */
  blamed: boolean;
  /** Whether it continues by itself: it is slow, not stuck. */
  moves: boolean;
  /** Ranks that wait for them; empty if they are not blamed. */
  peers: readonly number[];
  /** Whether they run the cell no more, or never did, according to the verdict; null if it does not say so. */
  outside: 'finished' | 'not in cell' | null;
  /** The collective in which they wait; null if unknown. */
  operation: string | null;
  runs: readonly IRun[];
  /** Why there is no stack. */
  error: string | null;
  /** All threads of the first of them. */
  text: string | null;
}

/**
 * Group equal stacks: those at fault first, then smaller groups, which are more conspicuous.
 *
 * @param verdict - the verdict on their world.
 */
export function groupStacks(
  stacks: readonly Stack[],
  verdict: Verdict | null
): IStackGroup[] {
  const groups = new Map<string, { ranks: number[]; stack: Stack }>();
  for (const stack of stacks) {
    const blamed = verdict?.ranks.includes(stack.rank) ?? false;
    const operation = operationOf(verdict, stack.rank);
    const outside = outsideOf(verdict, stack.rank);
    const key = JSON.stringify([
      blamed,
      operation,
      outside,
      stack.error,
      keyOf(stack)
    ]);
    const group = groups.get(key) ?? { ranks: [], stack };
    group.ranks.push(stack.rank);
    groups.set(key, group);
  }
  return [...groups.values()]
    .map(({ ranks, stack }) => ({
      ranks,
      blamed: verdict?.ranks.includes(ranks[0]) ?? false,
      moves: verdict !== null && !verdict.alarm,
      peers: verdict?.ranks.includes(ranks[0]) ? verdict.peers : [],
      outside: stack.frames?.length ? null : outsideOf(verdict, ranks[0]),
      operation: operationOf(verdict, ranks[0]),
      runs: runsOf(stack.frames ?? []),
      error: stack.error,
      text: stack.text
    }))
    .sort(
      (a, b) =>
        Number(b.blamed) - Number(a.blamed) ||
        a.ranks.length - b.ranks.length ||
        a.ranks[0] - b.ranks[0]
    );
}

function outsideOf(
  verdict: Verdict | null,
  rank: number
): IStackGroup['outside'] {
  const blamed = verdict?.ranks.includes(rank) ?? false;
  switch (verdict?.code) {
    case 'left':
      return blamed ? 'finished' : null;
    case 'extra': // the ranks that others wait for are those that still run the cell
      return verdict.peers.includes(rank) ? 'finished' : null;
    case 'not_in_cell':
      return blamed ? 'not in cell' : null;
    default:
      return null;
  }
}

function keyOf(stack: Stack): unknown {
  // threads of different ranks are never quite equal; only the main thread matters
  return stack.frames?.length ? stack.frames : Boolean(stack.text);
}

function operationOf(verdict: Verdict | null, rank: number): string | null {
  const position = verdict?.standings.find(s => s.ranks.includes(rank));
  return position && !position.left ? position.operation : null;
}

/** Frames in order, outermost first, with consecutive library frames grouped. */
export function runsOf(frames: readonly StackFrame[]): IRun[] {
  const runs: { library: boolean; frames: StackFrame[] }[] = [];
  for (const frame of frames) {
    const last = runs[runs.length - 1];
    const library = !!frame.library;
    if (last?.library === library) {
      last.frames.push(frame);
    } else {
      runs.push({ library, frames: [frame] });
    }
  }
  return runs;
}

/** The innermost frame of the user's code; null if there is none. */
export function userFrame(group: IStackGroup): StackFrame | null {
  const own = group.runs.filter(run => !run.library);
  return own[own.length - 1]?.frames.slice(-1)[0] ?? null;
}
