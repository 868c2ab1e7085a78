import { Cluster, Frame, Rank } from '../tokens';

/** Ranks as `live?ranks=columns` sends them: what is the same for all once, the rest a list a field. */
interface IColumns {
  count: number;
  same: Partial<Rank>;
  each: { [K in keyof Rank]?: Rank[K][] };
}

type Sent = Omit<Frame, 'clusters'> & {
  clusters: (Omit<Cluster, 'ranks'> & { ranks: IColumns | Rank[] })[];
};

/** A frame from its text; a server of an earlier version sends ranks one by one. */
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
  // a copy that has all fields from its beginning never grows: half the time, and half the garbage
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
