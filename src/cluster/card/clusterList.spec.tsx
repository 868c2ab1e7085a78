import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { Cluster, ILiveState, ISelection, ISite } from '../../tokens';
import { countOf, listedClusters, StoppedClusters } from './clusterList';

const trans = nullTranslator.load('dtrain_lab');

it('counts clusters by what they are in', () => {
  const some = (['failed', 'ready', 'paused', 'starting'] as const).map(state =>
    makeCluster({ state })
  );
  expect(countOf(some, trans)).toBe('1 failed · 1 starting · 2 running');
  expect(countOf([], trans)).toBe('none');
});

it('counts one that has stopped as stopped', () => {
  expect(countOf([makeCluster({ state: 'stopped' })], trans)).toBe('1 stopped');
});

it('counts one with lost ranks in a word that the head of the section has room for', () => {
  const lost = makeCluster({
    state: 'degraded',
    lost: [{ rank: 1 }] as Cluster['lost']
  });
  expect(countOf([lost, makeCluster()], trans)).toBe('1 degraded · 1 running');
});

it('folds clusters that have stopped, if the server has told their end', () => {
  const ended = (id: string, values: object): Cluster =>
    makeCluster({
      id,
      name: id,
      state: 'stopped',
      summary: { code: 'stopped', values, text: '' } as Cluster['summary']
    });
  const runs = makeCluster({ id: 'runs' });
  const model = { clusters: [runs] } as unknown as ILiveState;
  const site = { facts: null } as ISite;
  const selection = {
    cluster: runs,
    ended: [ended('told', { at: 5 }), ended('vanished', {})]
  } as unknown as ISelection;
  expect(listedClusters(model, selection)).toEqual([runs]);
  const commands = new CommandRegistry();
  const folded = renderToStaticMarkup(
    <StoppedClusters
      {...{ model, site, selection, commands, trans, disabled: false }}
    />
  );
  expect(folded).toContain('<summary>1 stopped cluster</summary>');
  expect(folded).toContain('told');
  expect(folded).not.toContain('vanished');
});
