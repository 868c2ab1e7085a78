import { AcrossRow } from './model';

/** Variables of a frame that were laid beside those of other ranks. */
export interface IDifferences {
  /** Those in which ranks differ. */
  rows: readonly AcrossRow[];
  /** How many are the same on all ranks that have them. */
  same: number;
  /** How many no other rank has, as where it is in another function. */
  own: number;
  /** How many are still to be looked at. */
  left: number;
}

/** Answer of the debugger to a request. */
type Ask = (
  command: string,
  args: Record<string, unknown>
) => Promise<{ body?: unknown } | null>;

/** Of more, those that come first are laid beside each other. */
const MOST = 50;
/** The thread of rank 0 (`dtrain_lab/debugger/state.py`). */
const FIRST_THREAD = 1001;
/** What IPython puts into a notebook's variables, and what differs on every rank by its meaning. */
const USUAL = new Set(
  'In Out exit quit get_ipython open rank local_rank device world_size'.split(
    ' '
  )
);
/** Types of what is defined, not computed. */
const DEFINED = /^(module|type|ABCMeta|function|method|builtin_function.*)$/;

interface IVariable {
  name: string;
  type?: string;
  presentationHint?: { attributes?: string[] };
}

/** Names of the variables of the frame of a stopped rank: those of the user's that have values. */
export async function variablesOf(
  ask: Ask,
  rank: number,
  depth = 0
): Promise<string[]> {
  const stack = await ask('stackTrace', { threadId: FIRST_THREAD + rank });
  const { stackFrames = [] } = (stack?.body ?? {}) as {
    stackFrames?: { id: number }[];
  };
  const frame = stackFrames[Math.min(depth, stackFrames.length - 1)];
  if (!frame) {
    return [];
  }
  const scopes = await ask('scopes', { frameId: frame.id });
  const [locals] = ((scopes?.body ?? {}) as { scopes?: IScope[] }).scopes ?? [];
  if (!locals) {
    return [];
  }
  const { variablesReference } = locals;
  const found = await ask('variables', { variablesReference });
  const { variables = [] } = (found?.body ?? {}) as { variables?: IVariable[] };
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

/**
 * Lays variables beside those of other ranks, one after another.
 *
 * @param across - what a variable is on all ranks
 * @param tell - told after each
 * @param goesOn - false once nobody wants to know any more
 */
export async function differencesIn(
  names: readonly string[],
  across: (name: string) => Promise<AcrossRow | null>,
  tell: (found: IDifferences) => void,
  goesOn: () => boolean
): Promise<void> {
  const wanted = names.slice(0, MOST);
  const rows: AcrossRow[] = [];
  let [same, own] = [0, 0];
  for (const [i, name] of wanted.entries()) {
    const row = await across(name).catch(() => null);
    if (!goesOn()) {
      return;
    }
    const values = row?.groups.filter(group => !group.error) ?? [];
    if (row && values.length > 1) {
      rows.push(row);
    } else if (row?.same) {
      same += 1;
    } else if (values.length) {
      own += 1;
    }
    tell({ rows: [...rows], same, own, left: wanted.length - i - 1 });
  }
  if (!wanted.length) {
    tell({ rows, same, own, left: 0 });
  }
}
