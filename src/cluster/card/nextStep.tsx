import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { Cluster } from '../../tokens';
import { Action } from '../../ui/actionButton';
import { Filled } from '../../ui/text/filled';
import { sourceFor } from '../dialogs/restart';

interface INextProps {
  cluster: Cluster;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Next step if nothing is wrong and nothing runs. */
export function Next(props: INextProps): JSX.Element | null {
  const { cluster, commands, trans } = props;
  const { lost, may } = cluster;
  if (
    lost.length &&
    may.includes('restart') &&
    commands.hasCommand(CommandIDs.restartRanks)
  ) {
    const ranks = lost.map(l => l.rank);
    const source = sourceFor(cluster, ranks);
    return (
      <p className="jp-DtrainUi-under">
        {trans._n(
          'It comes back empty: run its set-up cells again.',
          'They come back empty: run their set-up cells again.',
          ranks.length
        )}{' '}
        {source !== null && (
          <button
            type="button"
            className="jp-DtrainUi-link jp-DtrainUi-inText"
            onClick={() =>
              void commands.execute(CommandIDs.restartRanks, {
                id: cluster.id,
                ranks,
                source,
                ask: true
              })
            }
          >
            {trans.__('Or copy the variables of another rank.')}
          </button>
        )}
      </p>
    );
  }
  if (
    cluster.summary.code !== 'ready' ||
    cluster.running.length ||
    cluster.metrics.verdicts.length ||
    cluster.has_run ||
    cluster.metrics.last || // of a head of an earlier version
    !may.length
  ) {
    return null;
  }
  return <FirstCell key={cluster.id} {...props} />;
}

/** How to run a cell on the ranks; once inserted, how to run the inserted cell. */
function FirstCell({ commands, trans }: INextProps): JSX.Element {
  const [inserted, setInserted] = React.useState(false);
  return (
    <div className="jp-DtrainCluster-next">
      <span role="status">
        {inserted ? (
          trans.__('Run the new cell with Shift+Enter')
        ) : (
          <Filled
            text={trans.__('Run a cell that begins with %1', '%1')}
            parts={[<code key="magic">%%distributed</code>]}
          />
        )}
      </span>
      <Action
        label={inserted ? trans.__('Insert another') : trans.__('Insert')}
        hidden={!commands.hasCommand(CommandIDs.insertSnippet)}
        onClick={() =>
          void commands
            .execute(CommandIDs.insertSnippet, { load: false })
            .then(done => setInserted(inserted || done === true))
        }
      />
    </div>
  );
}
