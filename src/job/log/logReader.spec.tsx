import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { RequestError } from '../../request/rest';
import { IJobs, ILogQuery, Job, LogLine } from '../../tokens';
import { ViewStateContext, ViewState } from '../../ui/viewState';
import { IReader, useLog } from './logReader';

const trans = nullTranslator.load('dtrain_lab');
const line = (n: number): LogLine => ({
  time: n,
  rank: 0,
  text: `line ${n}`,
  error: false
});
const job = { id: 'j', name: 'j', state: 'running', error: null } as Job;

/** A log of which each answer has the next line; answers wait until they are let go. */
class Log {
  asked: string[] = [];
  waiting: (() => void)[] = [];

  async logs(_: string, query: ILogQuery): Promise<unknown> {
    this.asked.push(query.offset);
    await new Promise<void>(go => this.waiting.push(go));
    if (query.search) {
      const body = { code: 'not_in_log', message: '', hint: '', details: {} };
      throw new RequestError(404, body);
    }
    const from = /^\d/.test(query.offset) ? Number(query.offset) : 0;
    const start = from === 0;
    const offset = `${from + 1}`;
    return { lines: [line(from)], bars: [], offset, end: false, start };
  }

  async answer(): Promise<void> {
    await vi.waitFor(() => expect(this.waiting).not.toEqual([]));
    this.waiting.shift()!();
  }
}

function Reading(props: { log: Log; out: { reader?: IReader } }): JSX.Element {
  const jobs = props.log as unknown as IJobs;
  props.out.reader = useLog(jobs, job, '', () => true, trans);
  return <>{props.out.reader.lines.length}</>;
}

it('goes on where its view was left, without a gap and without a line twice', async () => {
  const log = new Log();
  const out: { reader?: IReader } = {};
  const texts = (): string[] | undefined => out.reader?.lines.map(l => l.text);
  const host = document.createElement('div');
  const root = createRoot(host);
  const kept = new ViewState();
  const draw = (seen: boolean): void =>
    root.render(
      <ViewStateContext.Provider value={kept}>
        {seen && <Reading log={log} out={out} />}
      </ViewStateContext.Provider>
    );
  draw(true);
  await log.answer();
  await vi.waitFor(() => expect(texts()).toEqual(['line 0']));
  await vi.waitFor(() => expect(log.asked).toEqual(['end', '1']));
  // left while an answer is on its way
  draw(false);
  await vi.waitFor(() => expect(host.textContent).toBe(''));
  await log.answer();
  out.reader = undefined;
  draw(true);
  await vi.waitFor(() => expect(texts()).toEqual(['line 0']));
  await log.answer();
  await vi.waitFor(() => expect(texts()).toEqual(['line 0', 'line 1']));
  expect(log.asked.slice(0, 3)).toEqual(['end', '1', '1']);
  root.unmount();
});

it('keeps what was not found while the log grows, until something else is searched', async () => {
  const log = new Log();
  const out: { reader?: IReader } = {};
  const root = createRoot(document.createElement('div'));
  root.render(<Reading log={log} out={out} />);
  await log.answer();
  await vi.waitFor(() => expect(out.reader?.lines).toHaveLength(1));
  expect(out.reader?.whole).toBe(true);
  await vi.waitFor(() => expect(log.waiting).toHaveLength(1));
  out.reader?.find('qqq');
  await log.answer(); // of the request before, which is dropped
  await log.answer();
  await log.answer();
  await vi.waitFor(() => expect(out.reader?.missing).toBe('qqq'));
  expect(log.asked.slice(-3)).toEqual(['1', '1', 'start']);
  await log.answer();
  await vi.waitFor(() => expect(out.reader?.lines).toHaveLength(2));
  expect([out.reader?.missing, out.reader?.error]).toEqual(['qqq', '']);
  out.reader?.calm();
  await vi.waitFor(() => expect(out.reader?.missing).toBe(''));
  root.unmount();
});

it('shows the requested part if a search before its answer finds nothing', async () => {
  const log = new Log();
  const out: { reader?: IReader } = {};
  const root = createRoot(document.createElement('div'));
  root.render(<Reading log={log} out={out} />);
  await log.answer();
  await vi.waitFor(() => expect(out.reader?.lines).toHaveLength(1));
  expect(out.reader?.isReplaced()).toBe(false);
  out.reader?.fromStart();
  expect(out.reader?.isReplaced()).toBe(true);
  out.reader?.find('qqq');
  await vi.waitFor(async () => {
    log.waiting.splice(0).forEach(go => go());
    expect(out.reader?.missing).toBe('qqq');
    expect(log.asked.at(-1)).toBe('1');
  });
  const texts = out.reader?.lines.map(l => l.text);
  expect(texts?.filter(text => text === 'line 0')).toHaveLength(1);
  root.unmount();
});
