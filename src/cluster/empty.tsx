import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../commands';
import { Profile, Site } from '../tokens';

/** The first lines that a newcomer runs. */
export const SNIPPET =
  '%load_ext dtrain_lab\n%%distributed\nprint(rank, device)';

/** No cluster: what one is, one button to have one, the other ways. */
export function Empty(props: {
  site: Site | null;
  profiles: readonly Profile[];
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { site, profiles, commands, trans } = props;
  if (!site) {
    return (
      <div className="jp-Dtrain-loading" aria-busy="true">
        <span />
        <span />
        <span />
      </div>
    );
  }
  const machine = site.gpus
    ? trans._n(
        'This machine has %1 GPU.',
        'This machine has %1 GPUs.',
        site.gpus
      )
    : trans._n(
        'This machine has %1 core and no GPU.',
        'This machine has %1 cores and no GPU.',
        site.cpus
      );
  const start = (args: object): void => {
    void commands.execute(CommandIDs.startCluster, args as never);
  };
  return (
    <div className="jp-Dtrain-empty">
      <p className="jp-Dtrain-headline" role="status">
        {trans.__('No cluster is running.')}
      </p>
      <p>
        {trans.__(
          'A cluster runs %1 cells on many ranks, one per GPU.',
          '%%distributed'
        )}{' '}
        {machine}
      </p>
      {site.may_write && site.local && (
        <button
          type="button"
          className="jp-Dtrain-button jp-mod-primary jp-mod-wide"
          onClick={() => start({ ranks: site.default_ranks })}
        >
          {trans._n(
            'Start %1 rank here',
            'Start %1 ranks here',
            site.default_ranks
          )}
        </button>
      )}
      {profiles.some(p => p.name !== 'local') && (
        <ul className="jp-Dtrain-profiles">
          {profiles
            .filter(p => p.name !== 'local')
            .map(p => (
              <li key={p.name}>
                <span>
                  <b>{p.name}</b>
                  <span className="jp-Dtrain-under">
                    {p.error ? p.error.message : (p.backend ?? '')}
                  </span>
                </span>
                {site.may_write && !p.error && (
                  <button
                    type="button"
                    className="jp-Dtrain-button"
                    onClick={() => start({ profile: p.name, ask: true })}
                  >
                    {trans.__('Start…')}
                  </button>
                )}
              </li>
            ))}
        </ul>
      )}
      <p>{trans.__('Or from a notebook:')}</p>
      <div className="jp-Dtrain-snippet">
        <pre>{SNIPPET}</pre>
        <button
          type="button"
          className="jp-Dtrain-button"
          onClick={() => void commands.execute(CommandIDs.insertSnippet)}
        >
          {trans.__('Insert')}
        </button>
      </div>
    </div>
  );
}
