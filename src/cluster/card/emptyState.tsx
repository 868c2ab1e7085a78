import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../../commands';
import { LOAD_LINE, SNIPPET } from '../../snippets';
import { Profile, Site } from '../../tokens';
import { Action } from '../../ui/actionButton';
import { DEFAULT_PROFILE } from '../model/site';
import { AddProfile } from './addProfile';

/** Empty state without a cluster: explanation, start button, other ways. */
export function Empty(props: {
  site: Site | null;
  profiles: readonly Profile[];
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { site, profiles, commands, trans } = props;
  if (!site) {
    return (
      <div className="jp-DtrainCluster-loading" aria-busy="true">
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
  const start = (args: object): Promise<unknown> =>
    commands.execute(CommandIDs.startCluster, args as never);
  const startable =
    site.may_write && commands.hasCommand(CommandIDs.startCluster);
  // those with an error can't be started: the list of profiles says what is wrong
  const others = profiles.filter(p => p.name !== DEFAULT_PROFILE && !p.error);
  return (
    <div className="jp-DtrainCluster-empty">
      <p className="jp-DtrainCluster-headline" role="status">
        {trans.__('No cluster is running.')}
      </p>
      <p className="jp-DtrainUi-under">
        {trans.__(
          'A cluster runs %1 cells on many ranks, one per GPU.',
          '%%distributed'
        )}{' '}
        {machine}
      </p>
      {startable && site.local && (
        <Action
          label={trans._n(
            'Start %1 rank here',
            'Start %1 ranks here',
            site.default_ranks
          )}
          icon="start"
          primary
          wide
          onClick={() => start({ ranks: site.default_ranks })}
        />
      )}
      {others.length > 0 && (
        <ul className="jp-DtrainCluster-profiles">
          {others.map(p => (
            <li key={p.name}>
              <span>
                <b>{p.name}</b>
                <span className="jp-DtrainUi-under">{p.backend ?? ''}</span>
              </span>
              {startable && (
                <Action
                  label={trans.__('Start…')}
                  onClick={() => start({ profile: p.name, ask: true })}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {site.may_write && <AddProfile commands={commands} trans={trans} />}
      <p>{trans.__('Or from a notebook, in two cells:')}</p>
      <div className="jp-DtrainCluster-snippet">
        {/* a cell magic must be in a cell's first line: two cells */}
        <pre>{LOAD_LINE}</pre>
        <div>
          <pre>{SNIPPET}</pre>
          <Action
            label={trans.__('Insert')}
            hidden={!commands.hasCommand(CommandIDs.insertSnippet)}
            onClick={() => void commands.execute(CommandIDs.insertSnippet)}
          />
        </div>
      </div>
      <Quickstart commands={commands} trans={trans} />
    </div>
  );
}

/** Empty state without a job: explanation, and an example. */
export function NoJobs(props: {
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { trans } = props;
  return (
    <div className="jp-DtrainCluster-empty">
      <p>
        <b>{trans.__('No jobs yet.')}</b>
      </p>
      <p className="jp-DtrainUi-under">
        {trans.__(
          'Submit runs the open notebook as a job on many nodes. It keeps running when you close the browser.'
        )}
      </p>
    </div>
  );
}

function Quickstart(props: {
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { commands, trans } = props;
  return !commands.hasCommand(CommandIDs.openQuickstart) ? null : (
    <p className="jp-DtrainUi-links">
      <button
        type="button"
        className="jp-DtrainUi-link"
        onClick={() => void commands.execute(CommandIDs.openQuickstart)}
      >
        {trans.__('Open the quickstart notebook')}
      </button>
    </p>
  );
}
