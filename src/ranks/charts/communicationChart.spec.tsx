import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it, vi } from 'vitest';

import { makeCluster } from '../../testing/clusters';
import { IPoint } from '../../tokens';
import { Communication } from './communicationChart';

vi.mock('./chart', () => ({ TimeChart: () => null }));

it('names the parts that are in the chart, also after training has ended', () => {
  const ended = makeCluster();
  const { metrics } = ended;
  const none = { step_s: null, comm_overhead: null, current: false };
  const cluster = { ...ended, metrics: { ...metrics, ...none } };
  const point = { overhead: 0.4, overheadError: 0.02, waiting: 0.3 } as IPoint;
  const drawn = (points: IPoint[]): string =>
    renderToStaticMarkup(
      <Communication
        cluster={cluster}
        points={points}
        axis={{ times: [], window: 300, marks: [] } as never}
        trans={nullTranslator.load('dtrain_lab')}
      />
    );
  expect(drawn([point, point])).toMatch(
    /<span data-part="transfer">transfer<\/span><span data-part="waiting">waiting</
  );
  expect(drawn([{ ...point, overhead: null }])).not.toContain('data-part');
});
