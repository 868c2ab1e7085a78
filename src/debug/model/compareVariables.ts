import { components } from '../../api/types';

export type AcrossRow = components['schemas']['AcrossRow'];
/** Names that only these ranks have. */
export type Only = components['schemas']['Only'];

/** Variables of a frame, compared with those of other ranks. */
export interface IDifferences {
  /** Variables that differ between ranks. */
  rows: readonly AcrossRow[];
  /** Number of variables that are equal on every rank. */
  same: number;
  /** Number of variables that are equal on the ranks that answered, while others did not. */
  alike: number;
  /** Names that some rank lacks, by the ranks that have them. */
  only: readonly Only[];
  /** Number of variables not compared: no other rank answered, or they can't be compared. */
  unknown: number;
  /** Number of variables skipped, because there are too many. */
  beyond: number;
  /** Ranks that gave no answer because they are running. */
  unseen: readonly number[];
  /** Number of variables still to be compared. */
  left: number;
}

/** Nothing is known yet, not even the number of variables. */
export const BEGINNING: IDifferences = {
  rows: [],
  same: 0,
  alike: 0,
  only: [],
  unknown: 0,
  beyond: 0,
  unseen: [],
  left: -1
};

/** Answer of the debugger to a request. */
type Ask = (
  command: string,
  args: Record<string, unknown>
) => Promise<{ body?: unknown } | null>;

/** Maximum number of compared variables; the first ones are used. */
export const MOST = 50;
/** The thread of rank 0 (`dtrain_lab/debugger/state.py`). */
export const FIRST_THREAD = 1001;
/** IPython's own variables, and those that differ on every rank by definition. */
const USUAL = new Set(
  'In Out exit quit get_ipython open rank local_rank device world_size'.split(
    ' '
  )
);
/** Types of definitions, which are not compared. */
const DEFINED = /^(module|type|ABCMeta|function|method|builtin_function.*)$/;

interface IVariable {
  name: string;
  type?: string;
  presentationHint?: { attributes?: string[] };
}

/** Names of the user's variables with values in a stopped rank's frame. */
export async function variablesOf(ask: Ask, rank: number): Promise<string[]> {
  const stack = await ask('stackTrace', { threadId: FIRST_THREAD + rank });
  const { stackFrames = [] } = (stack?.body ?? {}) as {
    stackFrames?: { id: number }[];
  };
  const [frame] = stackFrames;
  if (!frame) {
    return [];
  }
  const scopes = await ask('scopes', { frameId: frame.id });
  const [locals] = ((scopes?.body ?? {}) as { scopes?: IScope[] }).scopes ?? [];
  if (!locals) {
    return [];
  }
  const { variablesReference } = locals;
  const answer = await ask('variables', { variablesReference });
  const { variables = [] } = (answer?.body ?? {}) as {
    variables?: IVariable[];
  };
  return variables.filter(isValue).map(variable => variable.name);
}

interface IScope {
  variablesReference: number;
}

function isValue({ name, type }: IVariable): boolean {
  return (
    /^\p{L}[\p{L}\p{N}_]*$/u.test(name) &&
    !USUAL.has(name) &&
    !DEFINED.test(type ?? '')
  );
}

/** Evaluate the answers of all ranks for one variable. */
type Kind = 'differs' | 'same' | 'alike' | 'lacking' | 'unknown';

/** Ranks that have no answer in a row. */
function silentIn(row: AcrossRow, ranks: readonly number[]): number[] {
  const heard = new Set(row.groups.flatMap(group => group.ranks));
  return ranks.filter(rank => !heard.has(rank));
}

function kindOf(row: AcrossRow, ranks: readonly number[]): Kind {
  const values = row.groups.filter(group => !group.error);
  const errors = row.groups.filter(group => group.error);
  if (values.length > 1) {
    return 'differs';
  }
  if (!values.length || !row.comparable || errors.some(group => !group.lacks)) {
    return 'unknown';
  }
  if (errors.length) {
    return 'lacking';
  }
  if (!silentIn(row, ranks).length) {
    return 'same';
  }
  return values[0].ranks.length > 1 ? 'alike' : 'unknown';
}

/** Add a name that only some ranks have, according to its row. */
function withName(
  only: readonly Only[],
  name: string,
  { groups }: AcrossRow
): readonly Only[] {
  if (only.some(({ names }) => names.includes(name))) {
    return only;
  }
  const { ranks } = groups.find(group => !group.error)!;
  const key = String(ranks);
  const others = only.filter(one => String(one.ranks) !== key);
  const { names = [] } = only.find(one => String(one.ranks) === key) ?? {};
  return [...others, { ranks, names: [...names, name] }];
}

/**
 * Compares variables with those of other ranks, one after another.
 *
 * @param ranks - those that have variables at all: a lost one has none
 * @param only - names that only some ranks have, as far as they are known
 * @param across - returns a variable's value on all ranks
 * @param tell - called after each variable
 * @param goesOn - returns false when the result is no longer needed
 */
export async function differencesIn(
  names: readonly string[],
  ranks: readonly number[],
  only: readonly Only[],
  across: (name: string) => Promise<AcrossRow | null>,
  tell: (found: IDifferences) => void,
  goesOn: () => boolean
): Promise<void> {
  const wanted = names.slice(0, MOST);
  const rows: AcrossRow[] = [];
  const counts = { same: 0, alike: 0, unknown: 0 };
  const unseen = new Set<number>();
  const report = (left: number): void =>
    tell({
      ...counts,
      rows: [...rows],
      only,
      beyond: names.length - wanted.length,
      unseen: [...unseen].sort((a, b) => a - b),
      left
    });
  for (const [i, name] of wanted.entries()) {
    // a variable that can't be evaluated, such as a failing property, does not hide the others
    const row = await across(name).catch(() => null);
    if (!goesOn()) {
      return;
    }
    const kind = row ? kindOf(row, ranks) : 'unknown';
    if (row) {
      silentIn(row, ranks).forEach(rank => unseen.add(rank));
    }
    if (row && kind === 'differs') {
      rows.push(row);
    } else if (row && kind === 'lacking') {
      only = withName(only, name, row);
    } else if (kind !== 'differs' && kind !== 'lacking') {
      counts[kind] += 1;
    }
    report(wanted.length - i - 1);
  }
  if (!wanted.length) {
    report(0);
  }
}
