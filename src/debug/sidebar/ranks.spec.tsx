import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it, vi } from 'vitest';

import { makeDebugView } from '../../testing/debug';
import { DebugModel, DebugView } from '../model/model';
import { ITakeOver } from '../model/world';
import { Ranks } from './ranks';

const view = (focus: number): DebugView =>
  makeDebugView({
    focus,
    ranks: Array.from({ length: 128 }, (_, rank) => ({
      attached: true,
      operation: null,
      phase: 'paused',
      place: { file: 'm.py', function: 'f', line: rank < 64 ? 3 : 7 },
      rank,
      reason: '',
      text: '',
      failed: false
    }))
  });

const NOT_HELD: ITakeOver = {
  holder: async () => null,
  paused: () => [],
  execute: async () => undefined
};

it('leads from a refused debugger to the ranks that another client debugs', async () => {
  const ends: (() => void)[] = [];
  const execute = vi.fn(() => new Promise<void>(end => ends.push(end)));
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const show = (
    held_elsewhere: boolean,
    holder: string | null = 'b.ipynb',
    paused: number[] = []
  ): void =>
    root.render(
      <Ranks
        model={{ isStarted: true } as unknown as DebugModel}
        view={makeDebugView({
          on: false,
          code: 'off',
          notes: ['b.ipynb is debugging these ranks.'],
          held_elsewhere
        })}
        job={null}
        cells={{ nameOfRanks: path => path, ranksOf: () => null }}
        takeOver={{
          holder: async () => holder,
          paused: () => paused,
          execute
        }}
        trans={nullTranslator.load('x')}
        onError={error => expect(error).toBeUndefined()}
      />
    );
  const button = (): HTMLElement | null => host.querySelector('button');
  const says = (text: string | undefined): Promise<void> =>
    vi.waitFor(() => expect(button()?.textContent).toBe(text));
  show(true);
  await says('Debug here instead');
  expect(button()?.title).toContain('b.ipynb');
  show(true, 'b.ipynb', [1]);
  await says('Go to the paused rank');
  show(true, null, [1]);
  await says('Try again');
  button()?.click();
  await vi.waitFor(() =>
    expect(button()?.getAttribute('aria-disabled')).toBe('true')
  );
  ends[0]();
  await vi.waitFor(() =>
    expect(button()?.getAttribute('aria-disabled')).toBeNull()
  );
  show(false);
  await says(undefined);
  expect(host.textContent).toContain('b.ipynb is debugging');
  expect(execute).toHaveBeenCalledOnce();
  root.unmount();
  host.remove();
});

it('offers to step the others to a rank only where steps bring them there', () => {
  const shown = (reachable: boolean): string =>
    renderToStaticMarkup(
      <Ranks
        model={{ isStarted: true } as unknown as DebugModel}
        view={makeDebugView({
          waits: [{ ranks: [0], text: 'Rank 0 waits in barrier.', reachable }]
        })}
        job={null}
        cells={{ nameOfRanks: path => path, ranksOf: () => null }}
        takeOver={NOT_HELD}
        trans={nullTranslator.load('x')}
        onError={error => expect(error).toBeUndefined()}
      />
    );
  expect(shown(true)).toContain('Step the other');
  expect(shown(false)).toContain('waits in');
  expect(shown(false)).not.toContain('Step the other');
});

it('looks at any one of many ranks by keyboard', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const looked: number[] = [];
  const draw = (focus: number): void =>
    root.render(
      <Ranks
        model={
          {
            focus: async (rank: number) => {
              looked.push(rank);
              draw(rank);
            }
          } as unknown as DebugModel
        }
        view={view(focus)}
        job={null}
        cells={{ nameOfRanks: path => path, ranksOf: () => null }}
        takeOver={NOT_HELD}
        trans={nullTranslator.load('x')}
        onError={error => expect(error).toBeUndefined()}
      />
    );
  draw(7);
  const field = await vi.waitFor(() => {
    const found = host.querySelector<HTMLInputElement>(
      '.jp-DtrainDebug-number input'
    );
    expect(found?.value).toBe('7');
    return found!;
  });
  const type = async (text: string): Promise<void> => {
    Object.getOwnPropertyDescriptor(
      HTMLInputElement.prototype,
      'value'
    )!.set!.call(field, text);
    field.dispatchEvent(new Event('input', { bubbles: true }));
    await vi.waitFor(() => expect(field.value).toBe(text));
  };
  const press = (key: string): boolean =>
    field.dispatchEvent(
      new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
    );
  await type('100');
  expect(looked).toEqual([]);
  field.form!.requestSubmit();
  await vi.waitFor(() => expect(looked).toEqual([100]));
  press('ArrowDown');
  await vi.waitFor(() => expect(looked).toEqual([100, 101]));
  await vi.waitFor(() => expect(field.value).toBe('101'));
  press('ArrowUp');
  await vi.waitFor(() => expect(looked).toEqual([100, 101, 100]));
  for (const wrong of ['128', '-1', '1.5', 'x']) {
    await type(wrong);
    await vi.waitFor(() =>
      expect(field.getAttribute('aria-invalid')).toBe('true')
    );
    field.form!.requestSubmit();
  }
  await type('');
  expect(field.getAttribute('aria-invalid')).toBe('false');
  field.form!.requestSubmit();
  press('ArrowUp');
  await vi.waitFor(() => expect(looked.at(-1)).toBe(127));
  expect(looked).toHaveLength(4);
  root.unmount();
  host.remove();
});

/** Render two ranks, and collect the requests that are sent. */
function draw(
  view: DebugView,
  name = 'cell\u00a0[16]'
): { host: HTMLElement; sent: object[]; end: () => void } {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const sent: object[] = [];
  root.render(
    <Ranks
      model={
        {
          send: async (_: string, args: object) => void sent.push(args)
        } as unknown as DebugModel
      }
      view={view}
      job={null}
      cells={{ nameOfRanks: () => name, ranksOf: () => null }}
      takeOver={NOT_HELD}
      trans={nullTranslator.load('x')}
      onError={error => expect(error).toBeUndefined()}
    />
  );
  return {
    host,
    sent,
    end: () => {
      root.unmount();
      host.remove();
    }
  };
}

it('takes ranks as the page writes them', async () => {
  const all = view(0);
  const { host, sent, end } = draw({
    ...all,
    mode: 'some',
    ranks: all.ranks.slice(0, 4)
  });
  const field = await vi.waitFor(() => {
    const found = host.querySelector<HTMLInputElement>(
      '.jp-DtrainDebug-mode > input'
    );
    expect(found).not.toBeNull();
    return found!;
  });
  for (const [written, ranks] of [
    ['0, 2–3', [0, 2, 3]],
    ['0-1', [0, 1]],
    ['0, 4', []],
    ['', []]
  ] as const) {
    Object.getOwnPropertyDescriptor(
      HTMLInputElement.prototype,
      'value'
    )!.set!.call(field, written);
    field.dispatchEvent(new Event('input', { bubbles: true }));
    await vi.waitFor(() => expect(sent.at(-1)).toEqual({ ranks }));
    await vi.waitFor(() =>
      expect(field.getAttribute('aria-invalid')).toBe(`${!ranks.length}`)
    );
    const why = host.querySelector('.jp-DtrainDebug-mode [role="status"]');
    expect(why?.textContent ?? '').toBe(
      ranks.length
        ? ''
        : written
          ? 'A step moves no rank: write ranks from 0 to 3, such as 0-3.'
          : 'A step moves no rank: write ranks, such as 0-3.'
    );
  }
  end();
});

it('says that the ranks that a step moves are not paused', async () => {
  const all = view(0);
  const [zero, one] = all.ranks;
  const { host, end } = draw({
    ...all,
    mode: 'some',
    chosen: [1],
    ranks: [zero, { ...one, phase: 'running', place: null }]
  });
  await vi.waitFor(() =>
    expect(
      host.querySelector('.jp-DtrainDebug-mode [role="status"]')?.textContent
    ).toBe('A step moves no rank: rank 1 is not paused. Rank 0 is paused.')
  );
  end();
});

it('looks where the last cell failed only while no cell runs', async () => {
  const all = view(0);
  const [zero] = all.ranks;
  for (const phase of ['idle', 'running'] as const) {
    const { host, end } = draw({
      ...all,
      failed: true,
      ranks: [{ ...zero, phase, place: null }]
    });
    await vi.waitFor(() => expect(host.querySelector('p')).not.toBeNull());
    const found = host.textContent?.includes('Look where it failed');
    expect(found).toBe(phase === 'idle');
    end();
  }
});

it('looks where a cell was interrupted if it has not failed', async () => {
  const all = view(0);
  const ranks = all.ranks.map(r => ({ ...r, phase: 'idle' as const }));
  const { host, end } = draw({
    ...all,
    failed: true,
    only_interrupted: true,
    ranks
  });
  await vi.waitFor(() =>
    expect(host.textContent).toContain('Look where it was interrupted')
  );
  end();
});

it('names the place of a file as its links do, and in full when pointed at', async () => {
  const all = view(0);
  const [rank] = all.ranks;
  const place = { file: '/home/me/mylib.py', function: 'step', line: 19 };
  const { host, end } = draw({ ...all, ranks: [{ ...rank, place }] }, 'x');
  const square = await vi.waitFor(() => {
    const found = host.querySelector<HTMLElement>('[data-rank="0"]');
    expect(found).not.toBeNull();
    return found!;
  });
  expect(square.querySelector(':scope > span:last-child')?.innerHTML).toBe(
    'mylib.py, line&nbsp;19'
  );
  expect(square.title).toBe('step · x, line\u00a019');
  end();
});

it('lets a line of a narrow square end before the number of a cell, and nowhere in it', async () => {
  const all = view(0);
  const [rank] = all.ranks;
  const place = { ...rank.place!, file: '/tmp/ipykernel_1/12.py' };
  const { host, end } = draw({ ...all, ranks: [{ ...rank, place }] });
  await vi.waitFor(() =>
    expect(
      host.querySelector('.jp-DtrainDebug-grid [data-rank="0"]')?.textContent
    ).toContain('cell [16], line\u00a03')
  );
  end();
});
