import { expect, it } from 'vitest';

import {
  makeCluster,
  makeFrame,
  makeRank,
  makeVerdict
} from '../../testing/clusters';
import { makeLiveState } from '../../testing/liveState';
import { Cluster, Verdict } from '../../tokens';
import { clusterGlyph } from '../../verdicts/sentence';
import { Store } from './ignoredVerdicts';
import { LiveState } from './liveState';

/** As a browser's: what is written can be read by a later page. */
function makeStore(): Store {
  const kept = new Map<string, string>();
  return {
    getItem: key => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value)
  };
}

/** The head's sentence where nothing holds the cluster up. */
const RUNS: Cluster['summary'] = {
  code: 'running',
  values: { cell: '[7]', count: 2 },
  text: ''
};

function hanging(
  verdict: Partial<Verdict> | null,
  more: Partial<Cluster> = {}
): Cluster {
  const told = verdict && makeVerdict(verdict);
  return makeCluster({
    ranks: [makeRank(0), makeRank(1, { state: told ? 'stuck' : 'busy' })],
    running: [
      {
        cell: '[7]',
        notebook: 'a.ipynb',
        ranks: [0, 1],
        started_at: 5,
        cell_id: null,
        detached: false,
        kind: 'cell'
      }
    ],
    metrics: { ...makeCluster().metrics, verdicts: told ? [told] : [] },
    summary: told ? { code: told.code, values: {}, text: told.text } : RUNS,
    summary_if_ignored: told ? RUNS : null,
    ...more
  });
}

function open(store: Store): {
  model: LiveState;
  hear: (cluster: Cluster) => string;
} {
  const model = makeLiveState({ store });
  return {
    model,
    hear: cluster => {
      model.receive(makeFrame([cluster]));
      return clusterGlyph(model.clusters[0]);
    }
  };
}

it('shows a cluster as if nothing held it up, and what was put aside', () => {
  const { model, hear } = open(makeStore());
  expect(hear(hanging({}))).toBe('stuck');
  model.ignore('c1');
  const [shown] = model.clusters;
  expect([shown.metrics.verdicts, shown.ranks[1].state]).toEqual([[], 'busy']);
  expect(shown.summary).toMatchObject({
    code: 'running',
    values: { cell: '[7]', count: 2 }
  });
  expect(model.ignored('c1')?.text).toBe(
    'Rank 1 is stuck. 1 rank waits for it.'
  );
  model.showIgnored('c1');
  expect(clusterGlyph(model.clusters[0])).toBe('stuck');
  expect(model.ignored('c1')).toBeNull();
});

it('hides an episode for as long as it lasts, also in a later page of this browser', () => {
  const store = makeStore();
  const first = open(store);
  first.hear(hanging({ since_s: 14 }));
  first.model.ignore('c1');
  expect(first.hear(hanging({ since_s: 15 }))).toBe('busy');
  expect(open(store).hear(hanging({ since_s: 90 }))).toBe('busy');
  expect(open(makeStore()).hear(hanging({ since_s: 90 }))).toBe('stuck');
});

it('shows a verdict that changes, and the next episode', () => {
  const changes: Cluster[] = [
    hanging({ ranks: [0], peers: [1] }),
    hanging({ id: 'mismatch-0-7', kind: 'mismatch', code: 'mismatch' }),
    hanging({ id: 'stuck-all_reduce-8-1' }),
    // the same collective of another run, or of another group, has the same id
    hanging({}, { running: [{ ...hanging({}).running[0], started_at: 9 }] }),
    hanging({}, { world: { size: 2, generation: 1 } })
  ];
  for (const changed of changes) {
    const { model, hear } = open(makeStore());
    hear(hanging({}));
    model.ignore('c1');
    expect(hear(hanging({}))).toBe('busy');
    expect(hear(changed)).toBe('stuck');
  }
  const { model, hear } = open(makeStore());
  hear(hanging({}));
  model.ignore('c1');
  hear(hanging(null));
  expect(hear(hanging({}))).toBe('stuck');
});

it('keeps other verdicts, and other clusters', () => {
  const { model } = open(makeStore());
  const slow = makeVerdict({ id: 's', kind: 'slow', code: 'slow', text: 'S.' });
  const metrics = {
    ...makeCluster().metrics,
    verdicts: [makeVerdict(), slow]
  };
  const clusters = [
    hanging({}, { metrics, summary_if_ignored: { ...RUNS, code: 'slow' } }),
    hanging({}, { id: 'c2', name: 'other' })
  ];
  model.receive(makeFrame(clusters));
  model.ignore('c1');
  expect(model.clusters.map(clusterGlyph)).toEqual(['slow', 'stuck']);
  expect(model.clusters[0].summary.code).toBe('slow');
});

it('begins with nothing where its storage holds what it can not read', () => {
  for (const text of ['{', '7', '[1, null, {"cluster": 3}]']) {
    const store: Store = { getItem: () => text, setItem: () => undefined };
    expect(open(store).hear(hanging({}))).toBe('stuck');
  }
});
