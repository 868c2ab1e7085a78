import { CodeCell } from '@jupyterlab/cells';
import { IOutput } from '@jupyterlab/nbformat';
import { NotebookPanel } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';

import { components } from '../api/types';
import { request } from '../request/rest';
import { CellRecord, Cluster } from '../tokens';
import { trimmed } from './trim';

type Output = components['schemas']['Output'];

const PIECE = 2000;

/**
 * Put back what a notebook has missed: cells that ran on ranks while no page, or no kernel, was there to
 * show their output. Cells that have their output are left alone.
 *
 * @returns whether one of its cells still runs: then ask again.
 */
export async function replay(
  panel: NotebookPanel,
  cluster: Cluster,
  settings: ServerConnection.ISettings
): Promise<boolean> {
  const path = `clusters/${cluster.id}`;
  const records = await request<CellRecord[]>(settings, 'GET', `${path}/cells`);
  // the last run of each cell is the one that its output is of
  const last = new Map(records.map(r => [r.cell_id, r]));
  let running = false;
  for (const cell of panel.content.widgets) {
    const record = last.get(cell.model.id);
    if (!(cell instanceof CodeCell) || !record || record.detached) {
      continue;
    }
    if (misses(cell, record)) {
      const outputs = await read(record, path, settings);
      if (!cell.isDisposed && misses(cell, record)) {
        cell.model.outputs.fromJSON(asNotebook(record, outputs));
        cell.model.executionCount =
          record.state === 'ended' ? numberOf(record) : null;
        replayed.add(cell);
        running = running || record.state !== 'ended';
      }
    }
  }
  return running;
}

/** Cells whose output this page has from the journal, and goes on taking from there. */
const replayed = new WeakSet<CodeCell>();

function numberOf(record: CellRecord): number {
  return Number(record.cell.replace(/\D/g, ''));
}

/** A cell whose kernel speaks to this page, or that shows this run already, misses nothing. */
function misses(cell: CodeCell, record: CellRecord): boolean {
  const { model } = cell;
  if (model.executionState === 'running') {
    return false;
  }
  if (replayed.has(cell)) {
    return model.executionCount === null;
  }
  return model.executionCount !== numberOf(record) && !model.outputs.length;
}

async function read(
  record: CellRecord,
  path: string,
  settings: ServerConnection.ISettings
): Promise<Output[]> {
  const outputs: Output[] = [];
  for (;;) {
    const after = outputs[outputs.length - 1]?.seq ?? record.first_seq - 1;
    const query = `after=${after}&most=${PIECE}&cell=${encodeURIComponent(record.id)}`;
    const more = await request<Output[]>(
      settings,
      'GET',
      `${path}/output?${query}`
    );
    outputs.push(...more);
    if (more.length < PIECE) {
      return outputs;
    }
  }
}

/** Journal entries as the notebook would have them: labelled lines, displays, the failure. */
export function asNotebook(
  record: CellRecord,
  outputs: readonly Output[]
): IOutput[] {
  const found: IOutput[] = [];
  const tails = new Map<string, string>();
  for (const output of outputs) {
    const rank = output.ranks[0];
    if (output.text !== null) {
      const key = `${rank} ${output.kind}`;
      const text = (tails.get(key) ?? '') + output.text;
      const end = text.lastIndexOf('\n') + 1;
      tails.set(key, text.slice(end));
      addLines(found, rank, output.kind, text.slice(0, end));
    } else if (output.data && 'data' in output.data) {
      const metadata = output.data.metadata as object | undefined;
      found.push({
        output_type: 'display_data',
        data: output.data.data,
        metadata: { ...metadata, dtrain: { rank } }
      } as IOutput);
    }
  }
  for (const output of found) {
    if (output.output_type === 'stream') {
      output.text = trimmed(output.text as string) ?? output.text;
    }
  }
  for (const [key, text] of tails) {
    const [rank, kind] = key.split(' ');
    addLines(found, Number(rank), kind, text && `${text}\n`);
  }
  if (record.result?.sentence) {
    found.push({
      output_type: 'error',
      ename: 'RanksFailed',
      evalue: record.result.sentence,
      traceback: [...record.result.traceback]
    });
  }
  return found;
}

function addLines(
  found: IOutput[],
  rank: number,
  name: string,
  text: string
): void {
  if (!text) {
    return;
  }
  const lines = text
    .slice(0, -1)
    .split('\n')
    .map(line => `[${rank}] ${line.slice(line.lastIndexOf('\r') + 1)}\n`)
    .join('');
  const before = found[found.length - 1];
  if (before?.output_type === 'stream' && before.name === name) {
    before.text = `${before.text as string}${lines}`;
  } else {
    found.push({ output_type: 'stream', name, text: lines });
  }
}
