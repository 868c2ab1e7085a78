import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';

import { ClusterHead } from '../cluster/card/card';
import { KernelRecords } from '../locations/kernelRecords';
import { Cluster } from '../tokens';
import { makeCommands } from './commands';

/** The head of a cluster's card as HTML; `now` in ms. */
export function headHtml(cluster: Cluster, now = 0): string {
  return renderToStaticMarkup(
    <ClusterHead
      cluster={cluster}
      ignored={null}
      profiles={[]}
      records={new KernelRecords()}
      commands={makeCommands()}
      trans={nullTranslator.load('dtrain_lab')}
      now={now}
    />
  );
}

/** The same as text, with | in place of each tag. */
export function headText(cluster: Cluster, now = 0): string {
  return headHtml(cluster, now)
    .replace(/<svg.*?<\/svg>/g, '')
    .replace(/<\/span> <span>/g, ' ')
    .replace(/<[^>]+>/g, '|');
}
