import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { BEGINNING } from '../model/compareVariables';
import { DebugModel, RankView } from '../model/model';
import { CompareValues, differencesText, loneIn } from './compareValues';
import { sorted } from './onlyOnSome';

it('says of every variable what is known of it, and nothing of kinds that there are none of', () => {
  const trans = nullTranslator.load('x');
  const said = (found: object): string =>
    differencesText({ ...BEGINNING, left: 0, ...found }, trans);
  expect(differencesText(BEGINNING, trans)).toBe('Comparing variables…');
  expect(said({})).toBe('0 variables differ.');
  expect(said({ unknown: 12 })).toBe(
    '0 variables differ, 12 were not compared.'
  );
  expect(said({ same: 1, alike: 2, beyond: 23 })).toBe(
    '0 variables differ, 1 is the same, 2 are the same on the ranks that were looked at, ' +
      '23 more were not looked at.'
  );
});

it('says that there is nothing to compare only if no other rank was looked at', () => {
  const view = (...phases: RankView['phase'][]): { ranks: RankView[] } => ({
    ranks: phases.map((phase, rank) => ({ rank, phase }) as RankView)
  });
  const unseen = { ...BEGINNING, left: 0, unknown: 12, unseen: [0] };
  expect(loneIn(unseen, view('running', 'paused'))).toBe(1);
  expect(loneIn(unseen, view('running', 'paused', 'gone'))).toBe(1);
  expect(loneIn(unseen, view('running', 'paused', 'paused'))).toBeNull();
  expect(loneIn({ ...unseen, unseen: [] }, view('idle', 'paused'))).toBeNull();
  expect(loneIn({ ...unseen, left: 3 }, view('running', 'paused'))).toBeNull();
});

it('says whose value each one is, and keeps it in full', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const group = (ranks: number[], text: string, exact: string): object => ({
    ...{ ranks, text, exact, outlier: false, shape: null, dtype: null },
    ...{ device: null, norm: null, nans: 0, max_abs: null, error: false }
  });
  const row = {
    ...{ expression: 'loss', text: '0.333333 to 0.5', running: [] },
    groups: [
      group([0, 2], '0.333333', '0.3333333333333333'),
      { ...group([1], '0.5', ''), max_abs: 0.1667 }
    ]
  };
  root.render(
    <CompareValues
      model={
        {
          rows: [{ expression: 'loss', row }],
          differences: null
        } as unknown as DebugModel
      }
      view={null}
      trans={nullTranslator.load('x')}
      onError={error => expect(error).toBeUndefined()}
    />
  );
  await vi.waitFor(() => expect(host.querySelector('b')).not.toBeNull());
  const values = [...host.querySelectorAll('b')];
  expect(values.map(b => b.textContent?.replace(/\u00a0/g, ' '))).toEqual([
    'Ranks 0, 2: 0.333333',
    'Rank 1: 0.5'
  ]);
  expect(values.map(b => b.title)).toEqual(['0.3333333333333333', '0.5']);
  // of all ranks, not of one
  const under = [...host.querySelectorAll('.jp-DtrainUi-under')];
  expect(under.map(line => line.textContent)).toContain(
    'Largest difference 0.17'
  );
  root.unmount();
  host.remove();
});

it('names first what an error names', () => {
  const text = "NameError: name 'torch' is not defined";
  expect(sorted(['a', 'x', 'torch'], [{ text: '' }, { text }])).toEqual([
    'torch',
    'a',
    'x'
  ]);
});

it('keeps the field in view while expressions come above it', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const seen = vi.fn();
  Element.prototype.scrollIntoView = seen;
  const draw = (...expressions: string[]): void =>
    root.render(
      <CompareValues
        model={
          {
            rows: expressions.map(expression => ({ expression, row: null })),
            differences: null
          } as unknown as DebugModel
        }
        view={null}
        trans={nullTranslator.load('x')}
        onError={error => expect(error).toBeUndefined()}
      />
    );
  draw();
  await vi.waitFor(() => host.querySelector('input')!.focus());
  expect(host.querySelector('table')).toBeNull(); // headers of no rows
  draw('x', 'y');
  await vi.waitFor(() => expect(seen).toHaveBeenCalled());
  expect(seen.mock.contexts.at(-1)).toBe(host.querySelector('form'));
  root.unmount();
  host.remove();
});
