import { Job, LogLine } from '../../tokens';
import { blocksIn, errorsInGroup, isHead } from './tracebacks';

/** The error that failed a job: other ranks lose their connection to that rank, and fail, too. */
export interface ICause {
  rank: number;
  time: number;
  /** Whether the rank was ended by a signal, and raised nothing. */
  killed: boolean;
}

/**
 * Errors that other ranks report later than this have another cause, s: the log also has earlier attempts.
 */
const NEAR_S = 60;

/**
 * Errors of a rank whose peer has ended: as in `cells/errors.py` and `jobs/state.py`; a test compares them.
 */
const FOLLOWS =
  /connection closed by peer|connection reset by peer|connection was aborted|broken pipe|connection of the ranks was given up|nccl communicator was aborted|process group has been aborted|ended on this rank, too|^(?:\w+\.)*(?:Stopped|DistStoreError)\b/i;

/** Whether a line only says that another rank has ended. */
export function followsFrom(text: string): boolean {
  return FOLLOWS.test(text);
}

/** The rank that made others fail; null if none did, or if unknown. */
export function causeOf(error: Job['error']): ICause | null {
  return error && !followsFrom(error.message)
    ? { rank: error.rank, time: error.time, killed: error.signal !== null }
    : null;
}

/** Lines of errors that only follow from another rank's: line number → the error to which it belongs. */
export function followingLines(
  lines: readonly LogLine[],
  cause: ICause | null
): ReadonlyMap<number, string> {
  const errors = new Map<number, string>();
  if (!cause) {
    return errors;
  }
  const near = ({ rank, time }: { rank: number; time: number }): boolean =>
    rank !== cause.rank && Math.abs(time - cause.time) <= NEAR_S;
  const inBlocks = new Set<number>();
  for (const block of blocksIn(lines)) {
    block.numbers.forEach(number => inBlocks.add(number));
    const texts = block.numbers.map(number => lines[number].text);
    // an error in its chain may be a consequence that was handled: the last one counts
    const heads = texts.map(text => isHead(text));
    const last = texts.slice(heads.lastIndexOf(true) + 1);
    const grouped = errorsInGroup(last);
    const error = grouped.length
      ? grouped.every(followsFrom) && grouped[0]
      : last.find(text => /^\S/.test(text) && followsFrom(text));
    if (near(block) && error) {
      block.numbers.forEach(number => errors.set(number, error));
    }
  }
  lines.forEach((line, number) => {
    if (
      line.error &&
      !inBlocks.has(number) &&
      near(line) &&
      followsFrom(line.text)
    ) {
      errors.set(number, line.text);
    }
  });
  return errors;
}

/** An error without its details: "RuntimeError: … Connection reset by peer". */
export function shortError(text: string): string {
  const words = FOLLOWS.exec(text)?.[0];
  const type = /^[\w.]+(?=: )/.exec(text)?.[0];
  return words && type ? `${type}: … ${words}` : text;
}
