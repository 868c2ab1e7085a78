import { Cluster, Frame, Rank } from '../tokens';

/** Ranks as sent by `live?ranks=columns`: equal values once, other fields as one list each. */
interface IColumns {
  count: number;
  same: Partial<Rank>;
  each: { [K in keyof Rank]?: Rank[K][] };
}

type Sent = Omit<Frame, 'clusters'> & {
  clusters: (Omit<Cluster, 'ranks'> & { ranks: IColumns | Rank[] })[];
};

/** Parse a frame; a server of an earlier version sends ranks one by one. */
export function decode(text: string): Frame {
  const sent = JSON.parse(text) as Sent;
  const clusters = sent.clusters.map(cluster => ({
    ...cluster,
    ranks: Array.isArray(cluster.ranks) ? cluster.ranks : rows(cluster.ranks)
  }));
  return { ...sent, clusters };
}

function rows({ count, same, each }: IColumns): Rank[] {
  const columns = Object.entries(each) as [keyof Rank, unknown[]][];
  const ranks: Record<string, unknown>[] = [];
  // a copy created with all fields never grows, which halves time and garbage
  const first: Record<string, unknown> = { ...same };
  for (const [field, values] of columns) {
    first[field] = values[0];
  }
  for (let i = 0; i < count; i++) {
    const rank: Record<string, unknown> = { ...first };
    for (const [field, values] of columns) {
      rank[field] = values[i];
    }
    ranks.push(rank);
  }
  return ranks as unknown as Rank[];
}
