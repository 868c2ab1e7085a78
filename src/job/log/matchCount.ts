import { useEffect, useMemo, useState } from 'react';

import { LogLine } from '../../tokens';
import { ILogRow } from './lines';
import { IReader } from './logReader';

/** Which lines of the log a row shows, of those that contain a text: counted from 1, in the order in which they are shown. */
export interface IPlace {
  first: number;
  last: number;
  /** How many lines of the log contain the text. */
  of: number;
}

/** What the server has counted, for a part of the log that begins with a line. */
interface ICounted {
  text: string;
  start: LogLine | undefined;
  /** Lines with the text before that part. */
  before: number;
  /** Lines with the text in the log as it was then. */
  of: number;
}

/** What is searched: the text, and the row of the last match; another object for each search. */
type Hit = { text: string; key: string | null } | null;

/**
 * The place of the last match among all lines of the log that contain the text. A log that is only loaded in part is
 * counted by the server, with each search, as it may grow.
 *
 * @param wanted - whether a line of the log contains the text
 * @returns null while it is unknown
 */
export function useMatchCount(
  hit: Hit,
  rows: readonly ILogRow[],
  reader: IReader,
  wanted: RegExp | null
): IPlace | null {
  const [counted, setCounted] = useState<ICounted | null>(null);
  const start = reader.lines.at(0);
  const { whole } = reader;
  /** For each row, the number of its lines with the text. */
  const own = useMemo(
    () =>
      rows.map(({ lines }) =>
        wanted ? lines.filter(({ text }) => wanted.test(text)).length : 0
      ),
    [rows, wanted]
  );
  const loaded = sum(own);
  const index = hit ? rows.findIndex(({ key }) => key === hit.key) : -1;
  useEffect(() => {
    if (!hit || whole || index < 0) {
      return;
    }
    const { text } = hit;
    let latest = true;
    reader.matches(text).then(
      ({ before, after }) => {
        // else this page and the server don't agree on what contains the text
        if (latest && before >= loaded) {
          const of = before + after;
          setCounted({ text, start, before: before - loaded, of });
        }
      },
      () => undefined // without a count the match is shown without its place
    );
    return () => {
      latest = false;
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what is read later is counted with the next search
  }, [hit, whole, start, index < 0]);
  if (!hit || index < 0 || !own[index]) {
    return null;
  }
  const known = counted?.text === hit.text && counted.start === start;
  if (!whole && !known) {
    return null;
  }
  const before = whole ? 0 : counted!.before;
  const last = before + sum(own.slice(0, index + 1));
  const of = Math.max(before + loaded, whole ? 0 : counted!.of);
  return { first: last - own[index] + 1, last, of };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
