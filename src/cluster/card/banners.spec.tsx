import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { CommandIDs } from '../../commands';
import { makeCluster } from '../../testing/clusters';
import { ILiveState, ISelection, Stopped } from '../../tokens';
import { Disconnected, KernelLacks, OfNotebook } from './banners';
import { menuOfCluster } from './clusterList';

const trans = nullTranslator.load('dtrain_lab');

it('says of a server that was stopped what its clusters do', () => {
  const said = (stopped: Stopped | null) =>
    renderToStaticMarkup(
      <Disconnected
        model={{ retryAt: null, stopped } as unknown as ILiveState}
        trans={trans}
      />
    );
  expect(said('with clusters')).toContain(
    'The server was stopped, and with it the clusters on its machine'
  );
  expect(said('alone')).toContain(
    'The server was stopped. The clusters on its machine wait ten minutes for your next server'
  );
  expect(said(null)).not.toContain('It was stopped');
});

it('says why a kernel has no magics, and what to run', () => {
  const said = (failure: string): string =>
    renderToStaticMarkup(<KernelLacks failure={failure} trans={trans} />);
  expect(said('')).toContain('has no dtrain-lab. Run in a cell:');
  expect(said('')).toContain('%pip install dtrain-lab');
  expect(said('ImportError: libz is missing.')).toContain(
    'ImportError: libz is missing. Run in a cell, then restart the kernel:'
  );
});

it('says of which cluster the notebook in front is, where the panel shows another', () => {
  const own = makeCluster({ id: 'a', name: 'one', notebooks: ['a.ipynb'] });
  const other = makeCluster({ id: 'b', name: 'two', notebooks: ['b.ipynb'] });
  const commands = new CommandRegistry();
  commands.addCommand(CommandIDs.attachNotebook, { execute: () => undefined });
  const said = (path: string | null, cluster = other) =>
    renderToStaticMarkup(
      <OfNotebook
        model={{ clusters: [own, other] } as unknown as ILiveState}
        selection={
          { notebook: { path, lacks: false }, cluster } as unknown as ISelection
        }
        commands={commands}
        trans={trans}
      />
    ).replace(/<[^>]*>/g, '|');
  expect(said(null)).toBe('');
  expect(said('b.ipynb')).toBe('');
  expect(said('a.ipynb')).toBe('|a.ipynb uses one. |Show one||');
  expect(said('new.ipynb')).toBe('|new.ipynb uses no cluster. |Use two||');
  const past = makeCluster({ id: 'c', name: 'gone' });
  expect(said('new.ipynb', past)).toBe('');
});

it('offers no failed cluster to a notebook', () => {
  const clusters = [
    makeCluster({ id: 'a', name: 'one' }),
    makeCluster({ id: 'b', name: 'two' }),
    makeCluster({ id: 'c', name: 'dbg', state: 'failed', may: ['remove'] })
  ];
  const commands = new CommandRegistry();
  commands.addCommand(CommandIDs.attachNotebook, { execute: () => undefined });
  const notebook = { path: 'dbg.ipynb', lacks: false };
  const said = renderToStaticMarkup(
    <OfNotebook
      model={{ clusters } as unknown as ILiveState}
      selection={{ notebook, cluster: clusters[2] } as unknown as ISelection}
      commands={commands}
      trans={trans}
    />
  );
  expect(said).toBe('');
  const offered = menuOfCluster(clusters[2]).map(item => item.command);
  expect(offered).not.toContain(CommandIDs.attachNotebook);
  expect(offered).toContain(CommandIDs.stopCluster);
});
