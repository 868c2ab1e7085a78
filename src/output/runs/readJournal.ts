import { ServerConnection } from '@jupyterlab/services';

import { request } from '../../request/rest';
import { CellRecord } from '../../tokens';
import { JournalOutputs } from './journalOutputs';

/** Number of entries per request. */
const PIECE = 2000;

/** Entries of a cell's journal, and the number of the last one that was read. */
export interface IReading {
  journal: Pick<JournalOutputs, 'add'>;
  after: number;
}

/** Continue to read a cell's journal; `to.after` advances with each piece. */
export async function readJournal(
  to: IReading,
  record: CellRecord,
  cluster: string,
  settings: ServerConnection.ISettings
): Promise<void> {
  const path = '/clusters/{identity}/output';
  for (;;) {
    const query = { after: to.after, most: PIECE, cell: record.id };
    const more = await request(settings, 'GET', path, { id: cluster, query });
    to.journal.add(more);
    to.after = more[more.length - 1]?.seq ?? to.after;
    if (more.length < PIECE) {
      return;
    }
  }
}
