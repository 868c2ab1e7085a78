import { CodeCell, CodeCellModel } from '@jupyterlab/cells';
import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { Failure } from '../failure';
import { kindOf, magicOf, readOutputs, WIDGET } from './cellOutput';

it('shows a syntax error as other errors: a link to its line, and the line marked', () => {
  const model = new CodeCellModel({});
  model.outputs.fromJSON([
    {
      output_type: 'error',
      ename: 'BadCell',
      evalue: "SyntaxError: expected ':' The cell was not sent to any rank.",
      traceback: [
        '\u001b[36m  cell [4], line 3\u001b[39m',
        '    for i in range(3)',
        '                     ^',
        "\u001b[31mSyntaxError\u001b[39m: expected ':'",
        'The cell was not sent to any rank.'
      ]
    }
  ]);
  const { failure } = readOutputs({ model } as unknown as CodeCell);
  expect(failure?.sentence).toContain('not sent to any rank');
  const shown = renderToStaticMarkup(
    <Failure
      hint={null}
      tracebacks={[]}
      chosen={null}
      rows={failure?.rows ?? []}
      actions={{
        place: () => undefined,
        file: () => ({ name: '', open: null }),
        debug: () => ({ act: null, why: '' }),
        compare: () => ({ act: null, why: '' })
      }}
      trans={nullTranslator.load('dtrain_lab')}
    />
  );
  expect(shown).toMatch(/<button[^>]*>cell \[4\], line 3<\/button>/);
  expect(shown).toMatch(/data-here="true"[^>]*>.*for i in range/);
  expect(shown).not.toContain('ansi-cyan');
});

it('reads who has stopped the cluster from the display before the error', () => {
  const model = new CodeCellModel({});
  const stop = { by: 'server', at: 1767240720 };
  model.outputs.fromJSON([
    {
      output_type: 'display_data',
      data: { 'text/plain': '' },
      metadata: { dtrain: { stop } }
    },
    {
      output_type: 'error',
      ename: 'RanksStopped',
      evalue: '',
      traceback: ['The cluster was stopped.']
    }
  ]);
  const { failure, places } = readOutputs({ model } as unknown as CodeCell);
  expect(failure).toMatchObject({ stopped: true, stop });
  expect(places).toEqual([null, null]);
});

it('reads how an earlier cell has failed, which the bar then says, not a line', () => {
  const model = new CodeCellModel({});
  const said = [
    { code: 'raised', values: { ranks: '0-2', error: 'KeyError', others: 0 } }
  ];
  model.outputs.fromJSON([
    { output_type: 'stream', name: 'stdout', text: '[0-2] bg\n' },
    {
      output_type: 'display_data',
      data: { 'text/plain': 'Ranks 0–2 failed: KeyError.' },
      metadata: { dtrain: { ended: { interrupted: false, said } } }
    }
  ]);
  const output = readOutputs({ model } as unknown as CodeCell);
  expect(output.failure).toEqual({
    sentence: 'Ranks 0–2 failed: KeyError.',
    rows: [],
    interrupted: false,
    said
  });
  expect(output.places).toEqual([null, null]);
  expect(output.lines.map(line => line.text)).toEqual(['bg']);
});

it('reads what the magic of a cell asks for, from its first line', () => {
  expect(magicOf('%%distributed 0-1 --by-rank\nx')).toEqual({
    ranks: [0, 1],
    byRank: true,
    cluster: null
  });
  expect(magicOf('%%distributed\n# --by-rank')).toEqual({
    ranks: null,
    byRank: false,
    cluster: null
  });
  for (const line of ['--cluster b', "0 --cluster 'b'", '--cluster=b # c']) {
    expect(magicOf(`%%distributed ${line}\nx`)?.cluster).toBe('b');
  }
  expect(magicOf('%%distributed # --cluster b')?.cluster).toBeNull();
  expect(magicOf('print(1)')).toBeNull();
  // without options, all ranks in one block
  const any = { ranks: null, byRank: false, cluster: null };
  expect(magicOf('%distributed wait\n')).toEqual(any);
  expect(magicOf('%distributed output')).toEqual(any);
  expect(magicOf('%distributed status')).toBeNull();
});

it.each([
  ['figure', { 'image/png': 'x', 'text/plain': '<Figure>' }],
  // the renderer of charts adds the image once it has drawn them
  [
    'table',
    { 'application/vnd.plotly.v1+json': {}, 'text/plain': '', 'image/png': 'x' }
  ],
  ['table', { 'text/html': '<table/>', 'image/png': 'x' }],
  ['widget', { [WIDGET]: {}, 'image/png': 'x' }]
])('gives a %s its place by its types', (kind, data) => {
  const output = { output_type: 'display_data', metadata: {}, data };
  expect(kindOf(output)).toBe(kind);
});

it('says why a cluster has refused a cell, and what to do, as of other cells that were not run', () => {
  const model = new CodeCellModel({});
  const traceback = ['Rank 2 was lost.', 'Restart: %distributed restart 2.'];
  const evalue = traceback.join(' ');
  model.outputs.fromJSON([
    { output_type: 'error', ename: 'Conflict', evalue, traceback }
  ]);
  const { failure, places } = readOutputs({ model } as unknown as CodeCell);
  expect(failure).toMatchObject({
    refused: true,
    said: [{ code: 'not_run', values: { why: evalue } }]
  });
  expect(places).toEqual([null]);
});
