import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { record } from '../testing/record';
import { CellRecord } from '../tokens';
import { CellView } from './cellContent';
import { NOTHING } from './lines/omitted';
import { Choice } from './lines/parts';
import { ICellOutput } from './runs/cellOutput';
import { RunState } from './runs/storedRun';

type Failure = CellRecord['failures'][number];

/** An error of a rank, with its line. */
function raised(rank: number, type: string, line: number): Failure {
  return {
    kind: 'raised',
    rank,
    type,
    message: 'm',
    frames: [
      {
        cell: '16',
        file: null,
        line,
        function: '<module>',
        source: `source ${line}`,
        before: [],
        library: false,
        repeated: 0,
        left: 0
      }
    ],
    detail: []
  } as unknown as Failure;
}

/** What a cell shows of which only rank 0 has printed, and the ranks of whom `failures` are. */
function shown(
  choice: Choice,
  failures: readonly Failure[],
  state: RunState = 'failed',
  text = 'fine 0'
): HTMLElement {
  const output = {
    ranks: text ? [0] : [],
    lines: text
      ? [
          {
            text,
            ranks: [0],
            error: false,
            part: 0,
            progress: false
          }
        ]
      : [],
    area: [],
    failure: null
  } as unknown as ICellOutput;
  const node = document.createElement('div');
  node.innerHTML = renderToStaticMarkup(
    <CellView
      state={{
        output,
        ranks: [0, 1, 2],
        status: {
          state,
          record: record({ failures: [...failures] }),
          cluster: null,
          seconds: 1,
          ranks: [0, 1, 2]
        },
        choice,
        between: [],
        left: { gone: NOTHING, first: 1000, show: null },
        gone: 0,
        dead: [],
        disconnected: [],
        noKernel: [],
        unloaded: [],
        still: { dead: [], disconnected: [], noKernel: [] }
      }}
      actions={{
        choose: () => undefined,
        interrupt: null,
        stacks: null,
        place: () => undefined,
        file: () => ({ name: '', open: null }),
        debug: () => ({ act: () => undefined, why: '' }),
        compare: () => ({ act: () => undefined, why: '' })
      }}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  return node;
}

/** The headline that is not folded, and the button below its traceback; then the folded headlines. */
function failureOf(node: HTMLElement): (string | undefined)[] {
  const at = (selector: string): string | undefined =>
    node.querySelector(selector)?.textContent?.trim();
  return [
    at('.jp-DtrainOutput-failure > .jp-DtrainOutput-headline b'),
    at('.jp-DtrainOutput-failure > .jp-DtrainOutput-actions > button'),
    at('.jp-DtrainOutput-failure > details > summary b')
  ];
}

const FAILURES = [raised(1, 'KeyError', 4), raised(2, 'RuntimeError', 5)];

it('expands the failure of the chosen rank, and folds the others', () => {
  const [one, debugOne, two] = failureOf(shown('together', FAILURES));
  expect([one, two]).toEqual([
    'Rank 1 failed: KeyError: m',
    'Rank 2 failed: RuntimeError: m'
  ]);
  expect(debugOne).toBe('Debug rank 1 here');
  expect(failureOf(shown(2, FAILURES))).toEqual([
    two,
    'Debug rank 2 here',
    one
  ]);
  // a rank that has not failed chooses none of them
  expect(failureOf(shown(0, FAILURES))).toEqual([one, debugOne, two]);
});

it('debugs the chosen rank where several have failed alike', () => {
  const alike = [raised(1, 'KeyError', 4), raised(2, 'KeyError', 4)];
  expect(failureOf(shown(2, alike))[1]).toBe('Debug rank 2 here');
});

it('has no block for a rank that has printed nothing', () => {
  const blocks = [
    ...shown('by rank', FAILURES).querySelectorAll('.jp-DtrainOutput-block')
  ];
  expect(blocks.map(block => block.getAttribute('aria-label'))).toEqual([
    'Rank 0'
  ]);
});

it('has no choice of ranks in a cell that was interrupted while queued', () => {
  const chips = (state: RunState, text?: string): number =>
    shown('together', [], state, text).querySelectorAll(
      '.jp-DtrainOutput-chips button'
    ).length;
  expect([chips('not run', ''), chips('interrupted', '')]).toEqual([0, 0]);
  expect([chips('interrupted'), chips('failed', ''), chips('done')]).toEqual([
    5, 5, 5
  ]);
});
