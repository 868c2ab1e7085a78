import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { isThere } from '../cluster/card/startProgress';
import { CommandIDs } from '../commands';
import { menuOfRanks } from '../ranks/rankMenu';
import { RankRows } from '../ranks/table/rankRows';
import { Cluster, ISelection } from '../tokens';
import { formatCount } from '../metrics/format';
import { openContextMenu } from '../ui/menu';
import { Section } from '../ui/section';

/** The panel's section with the ranks of the selected cluster. */
export function RanksSection(props: {
  selection: ISelection;
  commands: CommandRegistry;
  trans: TranslationBundle;
  cluster: Cluster;
  section: (
    name: string,
    usually: boolean
  ) => { open: boolean; onToggle: () => void };
}): JSX.Element {
  const { selection, commands, trans, cluster } = props;
  return (
    <Section
      title={trans.__('Ranks')}
      note={alive(cluster, trans)}
      {...props.section('ranks', cluster.state !== 'starting')}
    >
      <RankRows
        cluster={cluster}
        selected={selection.rank}
        onSelect={rank => selection.selectRank(rank)}
        onMenu={(event, ranks) =>
          openContextMenu(event, commands, menuOfRanks(cluster, ranks))
        }
        trans={trans}
      />
      {commands.hasCommand(CommandIDs.showRanks) && (
        <p className="jp-DtrainUi-open">
          <button
            type="button"
            className="jp-DtrainUi-button"
            onClick={() =>
              void commands.execute(CommandIDs.showRanks, { id: cluster.id })
            }
          >
            {trans.__('Open ranks view')}
          </button>
        </p>
      )}
    </Section>
  );
}

/** Number of ranks that are there, of all. */
function alive(cluster: Cluster, trans: TranslationBundle): string {
  const living = cluster.ranks.filter(
    r => r.state !== 'lost' && isThere(r)
  ).length;
  return trans.__(
    '%1 of %2',
    formatCount(living),
    formatCount(cluster.ranks.length)
  );
}
