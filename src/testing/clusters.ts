import { Cluster, Frame, Rank, Verdict } from '../tokens';

/** A rank as the server sends one. */
export function makeRank(rank: number, more: Partial<Rank> = {}): Rank {
  const { step_s = null, comm_overhead } = more;
  return {
    rank,
    node: 'box',
    local_rank: rank,
    device: 'cpu',
    pid: 1000 + rank,
    state: 'idle',
    doing: null,
    where: null,
    slow: false,
    unsure: false,
    step: null,
    steps_per_s: null,
    own_s: step_s === null ? null : step_s * (1 - (comm_overhead ?? 0)),
    samples_per_s: null,
    step_s: null,
    tokens_per_s: null,
    data_s: null,
    compute_s: null,
    asleep_s: null,
    optimizer_s: null,
    transfer_s: null,
    wait_s: null,
    comm_overhead: null,
    comm_overhead_error: null,
    comm_bound: '',
    cpu_utilization: 0.5,
    memory_bytes: 2 ** 30,
    device_memory_bytes: null,
    device_memory_total_bytes: null,
    device_utilization: null,
    last_seen_s: 0.1,
    ...more
  };
}

/** A cluster as the server sends one. */
export function makeCluster(more: Partial<Cluster> = {}): Cluster {
  const ranks = more.ranks ?? [makeRank(0), makeRank(1)];
  return {
    id: 'c1',
    name: 'local-2',
    profile: 'local',
    state: 'ready',
    reason: null,
    summary: {
      code: 'ready',
      values: { total: ranks.length },
      text: `Ready. ${ranks.length} ranks wait for a cell.`
    },
    world: { size: ranks.length, generation: 0 },
    nodes: [
      {
        name: 'box',
        address: '127.0.0.1',
        state: 'ready',
        cpu_utilization: null,
        sent_bytes_per_s: null,
        received_bytes_per_s: null,
        throttled: ''
      }
    ],
    metrics: {
      samples_per_s: null,
      tokens_per_s: null,
      global_batch: null,
      rank_batch: null,
      accumulated: 1,
      even: false,
      loop: null,
      unsure: false,
      epoch: null,
      step_s: null,
      data_s: null,
      data_error: null,
      compute_s: null,
      asleep_s: null,
      optimizer_s: null,
      transfer_s: null,
      wait_s: null,
      comm_overhead: null,
      comm_overhead_error: null,
      comm_bound: '',
      step_ranks: [],
      slowest_rank: null,
      skew_s: null,
      values: {},
      averaged: null,
      verdicts: [],
      advice: [],
      no_advice: '',
      diagnosis_helps: false,
      too_busy: '',
      unknown: [],
      gradient_bytes: null,
      link_share: null,
      measured: false,
      current: true,
      last: null,
      step: null,
      memory_bytes: null,
      network_bytes_per_s: null
    },
    progress: [],
    notebooks: [],
    former_notebooks: [],
    owner: 'me',
    may: ['stop', 'restart', 'stacks', 'interrupt'],
    created_at: 1,
    ends_at: null,
    limit_at: null,
    troubles: [],
    idle_since: null,
    running: [],
    waiting: [],
    lost: [],
    usual_start_s: null,
    has_run: false,
    summary_if_ignored: null,
    without_lost: null,
    ...more,
    ranks
  };
}

/** A frame as the server sends one. */
export function makeFrame(
  clusters: Cluster[],
  more: Partial<Frame> = {}
): Frame {
  return {
    type: 'clusters',
    seq: 0,
    clusters,
    ended: {},
    untold: [],
    jobs: [],
    sweeps: {},
    ...more
  };
}

/** A verdict as the server sends one: rank 1 is stuck, unless its kind is another one. */
export function makeVerdict(more: Partial<Verdict> = {}): Verdict {
  const { kind = 'stuck' } = more;
  return {
    id: 'stuck-all_reduce-7-1',
    kind: 'stuck',
    code: 'stuck',
    values: {},
    text: 'Rank 1 is stuck. 1 rank waits for it.',
    ranks: [1],
    peers: [0],
    operation: 'all_reduce',
    sequence: 7,
    bytes: null,
    where: null,
    since_s: 14,
    hint: 'Often its data ended early.',
    actions: [],
    standings: [],
    alarm: ['stuck', 'mismatch'].includes(kind),
    headline: more.code !== 'too_busy',
    ...more
  };
}
