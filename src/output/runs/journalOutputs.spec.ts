import { expect, it } from 'vitest';

import { components } from '../../api/types';
import { record, result } from '../../testing/record';
import { WIDGET } from './cellOutput';
import { JournalOutputs } from './journalOutputs';

type Entry = components['schemas']['Output'];

const entry = (
  rank: number,
  text: string | null,
  more: Partial<Entry> = {}
): Entry => ({
  seq: 0,
  time: 0,
  cell: '[3]',
  ranks: [rank],
  kind: 'stdout',
  text,
  data: null,
  ...more
});

const journal = (...entries: Entry[]): JournalOutputs => {
  const all = new JournalOutputs();
  // entries arrive one by one
  entries.forEach(one => all.add([one]));
  return all;
};

it('puts lines back whole even where texts were cut, merged where ranks agree', () => {
  const all = journal(
    entry(0, 'half '),
    entry(1, 'other\n'),
    entry(2, 'line\nopen'),
    entry(0, 'line\n'),
    entry(2, '')
  );
  expect(all.outputs(record())).toEqual([
    {
      output_type: 'stream',
      name: 'stdout',
      text: '[1] other\n[2] line\n[0] half line\n[2] open\n'
    }
  ]);
  const both = journal(entry(0, 'a\nb\n'), entry(1, 'a\nb\n'));
  expect(both.outputs(record())[0].text).toBe('[0-1] a\n[0-1] b\n');
});

it('shows a line without its end while the cell runs, as the page that ran it does', () => {
  const running = record({ state: 'running', ended_at: null });
  const all = journal(entry(0, 'epoch 1\nloading'), entry(1, '\r10%', {}));
  expect(all.outputs(running)[0].text).toBe('[0] epoch 1\n[0] loading\n');
  all.add([entry(0, ' done\n')]);
  expect(all.outputs(running)[0].text).toBe('[0] epoch 1\n[0] loading done\n');
});

it('never merges lines against the order of a rank', () => {
  const all = journal(entry(0, 'a\nb\na\n'), entry(1, 'b\na\n'));
  expect(all.outputs(record())[0].text).toBe('[0] a\n[0-1] b\n[0-1] a\n');
});

it('shows progress bars below the lines while a cell runs, and their last state after it', () => {
  const all = journal(
    entry(0, '\r10%|# | 1/10', { kind: 'stderr' }),
    entry(0, '\r20%|# | 2/10', { kind: 'stderr' })
  );
  const running = record({ state: 'running', ended_at: null });
  expect(all.outputs(running)).toEqual([
    {
      output_type: 'display_data',
      data: { 'text/plain': '[0] 20%|# | 2/10' },
      metadata: { dtrain: { area: [{ ranks: [0], text: '20%|# | 2/10' }] } }
    }
  ]);
  all.add([entry(0, '\r100%|##| 10/10\n', { kind: 'stderr' })]);
  expect(all.outputs(record())).toEqual([
    { output_type: 'stream', name: 'stderr', text: '[0] 100%|##| 10/10\n' }
  ]);
});

it('keeps nested bars in place, and a bar that has ended before the text after it', () => {
  const stderr = (text: string): Entry => entry(0, text, { kind: 'stderr' });
  const inner = ['\n', '\repoch 20%|# | 1/5', '\u001b[A'].map(stderr);
  const all = journal(stderr('\rall 0%|  | 0/2'), ...inner, ...inner);
  const running = record({ state: 'running', ended_at: null });
  expect(all.outputs(running).map(o => o.metadata)).toEqual([
    {
      dtrain: {
        area: [
          { ranks: [0], text: 'all 0%|  | 0/2' },
          { ranks: [0], text: 'epoch 20%|# | 1/5' }
        ]
      }
    }
  ]);
  all.add(['\n', '\r   ', '\u001b[A', '\rall 100%|##| 2/2', '\n'].map(stderr));
  all.add([entry(0, 'done\n')]);
  expect(all.outputs(record()).map(o => [o.name, o.text])).toEqual([
    ['stderr', '[0] all 100%|##| 2/2\n'],
    ['stdout', '[0] done\n']
  ]);
});

it('puts back displays with their rank, updates in their place, and the failure', () => {
  const shown = (html: string, kind: Entry['kind']): Entry =>
    entry(1, null, {
      kind,
      data: {
        data: { 'text/html': html },
        metadata: {},
        transient: { display_id: 'd' }
      }
    });
  const all = journal(
    shown('<b>', 'display_data'),
    shown('<i>', 'update_display_data')
  );
  const sentence = 'Rank 1 failed.';
  const traceback = [sentence, '', 'Rank 1: ValueError: x'];
  const failed = record({
    result: result({ sentence, traceback })
  });
  expect(all.outputs(failed)).toEqual([
    {
      output_type: 'display_data',
      data: { 'text/html': '<i>' },
      metadata: { dtrain: { rank: 1 } }
    },
    {
      output_type: 'error',
      ename: 'RanksFailed',
      evalue: sentence,
      traceback
    }
  ]);
});

it('lets a rank clear what it has displayed, and no other one', () => {
  const image = (rank: number, name: string): Entry =>
    entry(rank, null, {
      kind: 'display_data',
      data: { data: { 'image/png': name }, metadata: {} }
    });
  const clear = entry(0, null, { kind: 'clear_output', data: { wait: true } });
  const all = journal(image(0, 'a'), image(1, 'b'), clear, image(0, 'c'));
  const shown = all.outputs(record()).map(o => o.data);
  expect(shown).toEqual([{ 'image/png': 'b' }, { 'image/png': 'c' }]);
});

it('keeps both ends of what is too much, and says how many lines went', () => {
  const all = new JournalOutputs();
  const lines = Array.from({ length: 100_000 }, (_, i) => `line ${i}\n`);
  for (let i = 0; i < lines.length; i += 1000) {
    all.add([entry(0, lines.slice(i, i + 1000).join(''))]);
  }
  const text = all.outputs(record())[0].text as string;
  const gone = Number(/… (\d+) lines are left out/.exec(text)?.[1]);
  const kept = text.split('\n').filter(l => l.startsWith('[0]'));
  expect(kept.length + gone).toBe(100_000);
  expect(kept[0]).toBe('[0] line 0');
  expect(kept[kept.length - 1]).toBe('[0] line 99999');
});

it('knows between which displays a line was printed', () => {
  const display = { data: { data: { 'image/png': 'x' } } };
  const figure = { kind: 'display_data' as const, ...display };
  const all = journal(
    entry(0, 'before\n'),
    entry(0, null, figure),
    entry(0, 'between\n'),
    entry(0, null, figure),
    entry(0, 'after\n')
  );
  const { lines, displays } = all.whole();
  expect(lines.map(({ text, part }) => [text, part])).toEqual([
    ['[0] before', 0],
    ['[0] between', 1],
    ['[0] after', 2]
  ]);
  expect([...displays]).toEqual([[0, [0, 1]]]);
});

it('shows nothing of a widget that its rank has closed', () => {
  const shown = (rank: number, id: string): Entry =>
    entry(rank, null, {
      kind: 'display_data',
      data: {
        data: { [WIDGET]: { model_id: id } },
        metadata: {},
        transient: {}
      }
    });
  const closed = (rank: number, id: string): Entry =>
    entry(rank, null, {
      kind: 'update_display_data',
      data: {
        data: { 'text/plain': '' },
        metadata: {},
        transient: { closed: id }
      }
    });
  const all = journal(
    shown(0, 'outer'),
    shown(0, 'inner'),
    shown(1, 'inner'),
    closed(0, 'inner'),
    entry(0, 'done\n')
  );
  const outputs = all.outputs(record());
  expect(outputs.map(({ data, text }) => text ?? data)).toEqual([
    { [WIDGET]: { model_id: 'outer' } },
    { 'text/plain': '' },
    { [WIDGET]: { model_id: 'inner' } },
    '[0] done\n'
  ]);
  expect(all.whole().displays).toEqual(
    new Map([
      [0, [0]],
      [1, [0]]
    ])
  );
});

it('keeps a table that a rank displays beside a bar of an Output widget, which is drawn again', () => {
  const shown = (data: object, inside?: string): Entry =>
    entry(0, null, {
      kind: 'display_data',
      data: { data, metadata: {}, transient: inside ? { inside } : {} }
    });
  const clears = (inside?: string): Entry =>
    entry(0, null, {
      kind: 'clear_output',
      data: { wait: true, ...(inside && { transient: { inside } }) }
    });
  const bar = (text: string): Entry[] => [
    clears('out'),
    shown({ 'text/html': text }, 'out')
  ];
  const table = shown({ 'text/html': 'table' });
  const texts = (all: JournalOutputs): unknown[] =>
    all.outputs(record()).map(o => Object.values(o.data ?? [o.text]).join());
  const all = journal(
    shown({ [WIDGET]: { model_id: 'out' } }),
    ...bar('50%'),
    table,
    ...bar('100%'),
    shown({ 'text/html': 'more' }, 'out'),
    entry(0, 'done\n')
  );
  expect(texts(all)).toEqual(['100%', 'more', 'table', '[0] done\n']);
  all.add([...bar('again')]);
  expect(texts(all)).toEqual(['again', '', 'table', '[0] done\n']);
});

it('leaves an Output widget where it is if a page has stored in it what is drawn again', () => {
  const shown = (data: object, inside?: string): Entry =>
    entry(0, null, {
      kind: 'display_data',
      data: { data, metadata: {}, transient: inside ? { inside } : {} }
    });
  const told = (transient: object): Entry =>
    entry(0, null, {
      kind: 'update_display_data',
      data: { data: { 'text/plain': '' }, metadata: {}, transient }
    });
  const draws = (text: string, inside = 'out'): Entry[] => [
    entry(0, null, {
      kind: 'clear_output',
      data: { wait: true, transient: { inside } }
    }),
    shown({ 'text/html': text }, inside),
    shown({ 'text/html': `below ${text}` }, inside)
  ];
  const view = { [WIDGET]: { model_id: 'out' } };
  const box = { [WIDGET]: { model_id: 'box' } };
  const data = (all: JournalOutputs): unknown[] =>
    all
      .outputs(record())
      .map(output => output.data as Record<string, unknown>)
      .filter(shown => shown['text/plain'] !== '');
  const all = journal(
    shown({ 'text/html': 'before' }),
    shown(view),
    shown({ 'text/html': 'after' }),
    ...draws('1'),
    told({ taken: 'out' })
  );
  const [before, after] = [{ 'text/html': 'before' }, { 'text/html': 'after' }];
  expect(data(all)).toEqual([before, view, after]);
  // no page was open
  all.add(draws('2'));
  const drawn = [{ 'text/html': '2' }, { 'text/html': 'below 2' }];
  expect(data(all)).toEqual([before, ...drawn, after]);
  all.add([told({ taken: 'out' }), shown(box), ...draws('in a box', 'in')]);
  all.add([told({ taken: 'in' })]);
  expect(data(all)).toEqual([before, view, after, box]);
  all.add([...draws('3'), told({ closed: 'out' })]);
  expect(data(all)).toEqual([before, after, box]);
});

it('shows what an Output widget captures once: in the widget, if a page has stored it there', () => {
  const out = { transient: { inside: 'out' } };
  const told = (transient: object): Entry =>
    entry(0, null, {
      kind: 'update_display_data',
      data: { data: { 'text/plain': '' }, metadata: {}, transient }
    });
  const shown = (data: object, transient = {}): Entry =>
    entry(0, null, {
      kind: 'display_data',
      data: { data, metadata: {}, transient }
    });
  const prints = (text: string): Entry => entry(0, text, { data: out });
  const clears = entry(0, null, {
    kind: 'clear_output',
    data: { wait: true, ...out }
  });
  const texts = (all: JournalOutputs): unknown[] =>
    all.outputs(record()).map(o => Object.values(o.data ?? [o.text]).join());
  const view = { model_id: 'out' };
  const all = journal(
    shown({ [WIDGET]: view }),
    prints('clicked\n'),
    shown({ 'text/html': 'table' }, out.transient),
    entry(0, 'outside\n')
  );
  const [widget] = texts(all);
  expect(texts(all)).toEqual([widget, '[0] outside\n[0] clicked\n', 'table']);
  all.add([told({ taken: 'out' })]);
  expect(texts(all)).toEqual([widget, '[0] outside\n']);
  all.add([clears, prints('status 1\n'), clears, prints('status '), clears]);
  all.add([prints('status '), prints('2\nof 3\n'), entry(0, 'done\n')]);
  const lines = '[0] outside\n[0] done\n';
  const captured = '[0] status 2\n[0] of 3\n';
  expect(texts(all)).toEqual([widget, `${lines}${captured}`]);
  expect(all.whole().lines.map(l => l.text)).toHaveLength(4);
  all.add([told({ taken: 'other' }), told({ closed: 'out' })]);
  expect(texts(all)).toEqual(['', lines]);
});

it('shows what an Output widget captures where it was printed, unless the rank stores it in the widget', () => {
  const prints = (text: string, time: number, transient?: object): Entry =>
    entry(0, `${text}\n`, { time, data: transient ? { transient } : null });
  const told = (transient: object): Entry =>
    entry(0, null, {
      kind: 'update_display_data',
      data: { data: { 'text/plain': '' }, metadata: {}, transient }
    });
  const out = { inside: 'out' };
  const text = (gone?: Set<number>): unknown =>
    all.outputs(record(), gone).map(o => o.text)[0];
  const all = journal(
    prints('before', 1),
    prints('captured', 2, out),
    prints('after', 3),
    prints('captured, too', 4, out),
    prints('last', 5)
  );
  expect(text()).toBe(
    '[0] before\n[0] captured\n[0] after\n[0] captured, too\n[0] last\n'
  );
  // the page was loaded meanwhile, and the rank stores all in the widget
  all.add([told({ taken: 'out' })]);
  all.add([prints('stored', 6, { ...out, stored: true }), prints('end', 7)]);
  expect(text()).toBe('[0] before\n[0] after\n[0] last\n[0] end\n');
  // the widget has ended with its process: nothing is lost
  expect(text(new Set([0]))).toBe(
    '[0] before\n[0] captured\n[0] after\n[0] captured, too\n[0] last\n[0] stored\n[0] end\n'
  );
  all.add([told({ closed: 'out' })]);
  expect(text(new Set([0]))).toBe(text());
});

it('shows captured text that was overwritten as a terminal shows it', () => {
  const data = { transient: { inside: 'out' } };
  const prints = (text: string, kind: Entry['kind'] = 'stdout'): Entry =>
    entry(0, text, { kind, data });
  const text = (...printed: Entry[]): unknown =>
    journal(...printed)
      .outputs(record())
      .map(o => o.text)
      .join('');
  const bar = ['10%', '\r20%', '\r30%', '\r100%\n'].map(t => prints(t));
  expect(text(...bar)).toBe('[0] 100%\n');
  expect(text(prints('10%\r20%\r30%'))).toBe('[0] 30%\n');
  expect(text(...bar, prints('done\n\nend\r\n'))).toBe(
    '[0] 100%\n[0] done\n[0] \n[0] end\n'
  );
  const nested = ['\router 0%', '\n\rinner 0%', '\u001b[A', '\n\rinner 9%'];
  expect(text(...nested.map(t => prints(t, 'stderr')))).toBe(
    '[0] outer 0%\n[0] inner 9%\n'
  );
});

it('shows an exception in an Output widget whose process has ended, among the other output', () => {
  const out = { transient: { inside: 'out' } };
  const traceback = ['Traceback', '\u001b[31mZeroDivisionError\u001b[0m: by 0'];
  const error = { ename: 'ZeroDivisionError', evalue: 'by 0', traceback };
  const all = journal(
    entry(1, 'before\n', { time: 1, data: out }),
    entry(1, null, { time: 2, kind: 'error', data: { ...error, ...out } }),
    entry(1, 'after\n', { time: 3 }),
    entry(1, null, {
      kind: 'update_display_data',
      data: { data: {}, metadata: {}, transient: { taken: 'out' } }
    })
  );
  const texts = (gone?: Set<number>): unknown[] =>
    all.outputs(record(), gone).map(o => `${o.name}: ${o.text}`);
  expect(texts()).toEqual(['stdout: [1] after\n']);
  expect(texts(new Set([1]))).toEqual([
    'stdout: [1] before\n',
    `stderr: [1] Traceback\n[1] ${traceback[1]}\n`,
    'stdout: [1] after\n'
  ]);
});
