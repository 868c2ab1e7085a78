import { Stack, StackFrame, Verdict } from '../tokens';
import { isAlarm } from '../ui/verdicts/verdict';

/** Frames that follow each other and are all the user's own, or all of libraries. */
export interface IRun {
  library: boolean;
  frames: readonly StackFrame[];
}

/** Ranks whose main threads stand at the same place in the same way. */
export interface IStackGroup {
  ranks: readonly number[];
  /** Others wait for at least one of them. */
  blamed: boolean;
  /** It goes on by itself: it is slow, not stuck. */
  moves: boolean;
  /** The collective that they wait in; null where none is known. */
  operation: string | null;
  runs: readonly IRun[];
  /** Why there is no stack. */
  error: string | null;
  /** All threads of the first of them. */
  text: string | null;
}

/**
 * Equal stacks together: those at fault first, then the smaller groups, since those differ.
 *
 * @param verdict - on the world that they are of.
 */
export function groupStacks(
  stacks: readonly Stack[],
  verdict: Verdict | null
): IStackGroup[] {
  const groups = new Map<string, { ranks: number[]; stack: Stack }>();
  for (const stack of stacks) {
    const blamed = verdict?.ranks.includes(stack.rank) ?? false;
    const operation = operationOf(verdict, stack.rank);
    const key = JSON.stringify([blamed, operation, stack.error, keyOf(stack)]);
    const group = groups.get(key) ?? { ranks: [], stack };
    group.ranks.push(stack.rank);
    groups.set(key, group);
  }
  return [...groups.values()]
    .map(({ ranks, stack }) => ({
      ranks,
      blamed: verdict?.ranks.includes(ranks[0]) ?? false,
      moves: verdict !== null && !isAlarm(verdict),
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

function keyOf(stack: Stack): unknown {
  // threads of different ranks are never quite alike; what the main one does is what matters
  return stack.frames?.length ? stack.frames : Boolean(stack.text);
}

function operationOf(verdict: Verdict | null, rank: number): string | null {
  const standing = verdict?.standings.find(s => s.ranks.includes(rank));
  return standing?.operation ?? null;
}

/** Frames in order, outermost first, library frames that follow each other together. */
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

/** The innermost frame of the user's own; null where there is none. */
export function userFrame(group: IStackGroup): StackFrame | null {
  const own = group.runs.filter(run => !run.library);
  return own[own.length - 1]?.frames.slice(-1)[0] ?? null;
}
