import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { headHtml, headText } from '../../testing/clusterHead';
import { makeCluster, makeRank, makeVerdict } from '../../testing/clusters';
import { makeCommands } from '../../testing/commands';
import { Cluster } from '../../tokens';
import { Actions } from './buttons';

const trans = nullTranslator.load('dtrain_lab');

it('offers what can be done about a hang in the order of its use, and no interrupt where nothing runs', () => {
  const { metrics } = makeCluster();
  const running = [
    {
      cell: '[7]',
      notebook: 'train.ipynb',
      ranks: [0, 1],
      started_at: 1,
      cell_id: 'a'
    }
  ] as unknown as Cluster['running'];
  const stuck = makeCluster({
    running,
    ranks: [makeRank(0), makeRank(1, { state: 'stuck' })],
    metrics: { ...metrics, verdicts: [makeVerdict()] }
  });
  const text = headText(stuck);
  const places = [
    'Interrupt, keep',
    'Stacks',
    'Restart rank 1…',
    'Copy report'
  ];
  expect(places.map(p => text.indexOf(p))).not.toContain(-1);
  expect(places.map(p => text.indexOf(p))).toEqual(
    places.map(p => text.indexOf(p)).sort((a, b) => a - b)
  );
  expect(headText(makeCluster())).not.toContain('Interrupt');
  expect(headText(makeCluster({ running }))).toContain('Interrupt');
});

it('offers to debug the rank that others wait for, unless it is in a collective, where it never pauses', () => {
  const commands = makeCommands();
  const place = {
    ranks: [1],
    blamed: true,
    left: false,
    sequence: 7,
    bytes: null
  };
  const buttons = (operation: string | null): string => {
    const standings = [{ ...place, operation, where: null }];
    const { metrics } = makeCluster();
    const cluster = makeCluster({
      running: [{ cell: '[7]', ranks: [0, 1] }] as Cluster['running'],
      notebooks: ['train.ipynb'],
      ranks: [makeRank(0), makeRank(1, { state: 'stuck' })],
      metrics: { ...metrics, verdicts: [makeVerdict({ standings })] }
    });
    return renderToStaticMarkup(
      <Actions
        cluster={cluster}
        ignored={null}
        profiles={[]}
        commands={commands}
        trans={trans}
      />
    );
  };
  expect(buttons(null)).toContain('Debug rank 1');
  expect(buttons('broadcast')).not.toContain('Debug rank 1');
  expect(buttons('broadcast')).toContain('Stacks');
});

it('says that a rank has finished the cell where others wait for it, and offers neither debugger nor restart of it', () => {
  const where = null;
  const verdict = makeVerdict({
    code: 'left',
    text: 'Rank 0 waits in all_reduce; rank 1 has finished the cell.',
    standings: [
      {
        ranks: [1],
        blamed: true,
        left: false,
        operation: null,
        sequence: null,
        bytes: null,
        where
      },
      {
        ranks: [0],
        blamed: false,
        left: false,
        operation: 'all_reduce',
        sequence: 7,
        bytes: null,
        where
      }
    ]
  });
  const { metrics } = makeCluster();
  const left = makeCluster({
    ranks: [makeRank(0, { state: 'in collective' }), makeRank(1)],
    metrics: { ...metrics, verdicts: [verdict] }
  });
  const text = headText(left);
  expect(text).toContain('Rank 1||has finished the cell|');
  expect(text).not.toContain('not known yet');
  expect(text).not.toContain('Restart');
  expect(text).toContain('Interrupt, keep variables');
});

it('names the line of a file, and that of the cell which called it', () => {
  const cell = {
    notebook: 'a.ipynb',
    cell: '[4]',
    cell_id: null,
    cell_kind: 'cell' as const,
    called_from: null,
    file: null,
    function: '<module>',
    line: 5
  };
  const where = {
    ...cell,
    notebook: null,
    cell: null,
    file: '/x/comms.py',
    line: 20,
    called_from: cell
  };
  const place = { left: false, sequence: null, bytes: null, where };
  const verdict = makeVerdict({
    standings: [
      { ...place, ranks: [1], blamed: true, operation: null },
      { ...place, ranks: [0], blamed: false, operation: 'all_reduce' }
    ]
  });
  const { metrics } = makeCluster();
  const text = headText(
    makeCluster({ metrics: { ...metrics, verdicts: [verdict] } })
  )
    .replace(/\|+/g, '')
    .replace(/\s/g, ' ');
  const line = 'comms.py, line 20, called from cell [4], line 5';
  expect(text).toContain(`Rank 1${line}`);
  expect(text).toContain(`Rank 0${line}, in all_reduce`);
});

it('says of a rank that has left the collective on which ranks disagree that it called it', () => {
  const place = { operation: 'all_reduce', sequence: 1, where: null };
  const verdict = makeVerdict({
    code: 'mismatch',
    standings: [
      { ...place, ranks: [1], blamed: true, left: false, bytes: 16 },
      { ...place, ranks: [0], blamed: false, left: true, bytes: 12 }
    ]
  });
  const { metrics } = makeCluster();
  const ranks = [makeRank(0), makeRank(1, { state: 'stuck' })];
  const text = headText(
    makeCluster({ ranks, metrics: { ...metrics, verdicts: [verdict] } })
  ).replace(/\s/g, ' ');
  expect(text).toMatch(
    /Rank 1\|+in all_reduce, collective no. 1 of this cell, 16/
  );
  expect(text).toMatch(
    /Rank 0\|+called all_reduce, collective no. 1 of this cell, 12/
  );
});

it('is red while a rank does not answer an interrupt, and offers its restart first', () => {
  const text = 'Rank 1 does not answer the interrupt.';
  const hint = 'Rank 1 is stopped by a signal; SIGCONT resumes it.';
  const { metrics } = makeCluster();
  const common = { code: 'deaf', values: { ranks: '1' }, text };
  const verdict = makeVerdict({ ...common, hint, peers: [], since_s: null });
  const deaf = makeCluster({
    ranks: [makeRank(0), makeRank(1, { state: 'stuck' })],
    running: [
      { cell: '[7]', ranks: [0, 1], notebook: 'a.ipynb', started_at: 0 }
    ] as unknown as Cluster['running'],
    metrics: { ...metrics, verdicts: [verdict] },
    summary: common
  });
  expect(headHtml(deaf)).toContain('data-kind="stuck"');
  const shown = headText(deaf);
  for (const part of [text, hint, 'Interrupt again']) {
    expect(shown).toContain(part);
  }
  expect(shown.indexOf('Restart rank 1…')).toBeLessThan(
    shown.indexOf('Stacks')
  );
  expect(shown).toContain('Restart rank 1…');
  expect(shown).not.toContain('Ignore');
});
