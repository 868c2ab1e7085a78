import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Poll } from '@lumino/polling';
import React, { useEffect, useState } from 'react';

import { ENDED } from '../../api/states';
import { CommandIDs } from '../../commands';
import { ILiveState, ISelection, Stopped } from '../../tokens';
import { formatSpan } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { Icon } from '../../ui/icons/icon';
import { usedBy } from '../model/notebookCluster';

/** Banner without a server: what is known about it, and one action. */
export function Disconnected(props: {
  model: ILiveState;
  trans: TranslationBundle;
}): JSX.Element {
  const { model, trans } = props;
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const look = (): void => setNow(Date.now());
    const poll = new Poll({
      name: 'dtrain-lab:disconnected',
      factory: async () => look(),
      frequency: { interval: 1000, backoff: false },
      standby: 'when-hidden'
    });
    model.changed.connect(look);
    return () => {
      poll.dispose();
      model.changed.disconnect(look);
    };
  }, [model]);
  const left = model.retryAt === null ? 0 : model.retryAt - now;
  return (
    <div className="jp-DtrainCluster-banner" data-kind="warning">
      <Glyph kind="off" label={trans.__('disconnected')} />
      <div>
        <p role="alert">
          <b>{trans.__('No connection to the server.')}</b>
        </p>
        <p>
          {left > 500
            ? trans.__('Trying again in %1.', formatSpan(left / 1000))
            : trans.__('Trying again…')}{' '}
          {goesOn(model.stopped, trans)}
        </p>
        <button
          type="button"
          className="jp-DtrainUi-link"
          onClick={() => model.reconnect()}
        >
          {trans.__('Try now')}
        </button>
      </div>
    </div>
  );
}

/** What continues without the server. */
function goesOn(stopped: Stopped | null, trans: TranslationBundle): string {
  switch (stopped) {
    case 'with clusters':
      return trans.__(
        'The server was stopped, and with it the clusters on its machine that nothing else uses. Jobs keep running.'
      );
    case 'alone':
      return trans.__(
        'The server was stopped. The clusters on its machine wait ten minutes for your next server there. Jobs keep running.'
      );
    case null:
      return trans.__(
        'Ranks and jobs keep running without the server, and their output is kept.'
      );
  }
}

/** Banner for users with read permission only. */
export function ReadOnly(props: { trans: TranslationBundle }): JSX.Element {
  const { trans } = props;
  return (
    <p className="jp-DtrainCluster-banner">
      <Icon kind="lock" />
      <span>
        {trans.__(
          'You can watch this cluster. Only its owner can run cells, interrupt or stop it.'
        )}
      </span>
    </p>
  );
}

/** Banner if the panel shows a cluster other than the current notebook's, with ways to use one for both. */
export function OfNotebook(props: {
  model: ILiveState;
  selection: ISelection;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { model, selection, commands, trans } = props;
  const { path, startedAs, lacks, lastCluster } = selection.notebook;
  const shown = model.clusters.find(c => c.id === selection.cluster?.id);
  const own =
    path && usedBy(model.clusters, startedAs ?? path, lastCluster ?? null);
  if (!path || lacks || !shown?.may.length || (own && own.id === shown.id)) {
    return null;
  }
  if (!own && ENDED.includes(shown.state)) {
    return null; // it has failed: there is nothing to use
  }
  const notebook = path.split('/').pop();
  const { id, name } = shown;
  return (
    <p className="jp-DtrainCluster-ofNotebook">
      {own
        ? trans.__('%1 uses %2.', notebook, own.name)
        : trans.__('%1 uses no cluster.', notebook)}{' '}
      {own ? (
        <button
          type="button"
          className="jp-DtrainUi-link"
          onClick={() => selection.select(own.id)}
        >
          {trans.__('Show %1', own.name)}
        </button>
      ) : (
        commands.hasCommand(CommandIDs.attachNotebook) && (
          <button
            type="button"
            className="jp-DtrainUi-link"
            onClick={() =>
              void commands.execute(CommandIDs.attachNotebook, { id, name })
            }
          >
            {trans.__('Use %1', name)}
          </button>
        )
      )}
    </p>
  );
}

/** Banner if the notebook's kernel can't use a cluster yet. */
export function KernelLacks(props: {
  /** The error; none if dtrain-lab is not installed. */
  failure?: string | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { failure, trans } = props;
  return (
    <p className="jp-DtrainUi-note" role="status">
      {failure
        ? trans.__(
            "dtrain-lab could not be loaded in this notebook's kernel: %1. Run in a cell, then restart the kernel:",
            failure.replace(/\.$/, '')
          )
        : trans.__(
            "This notebook's kernel has no dtrain-lab. Run in a cell:"
          )}{' '}
      <code>
        {failure
          ? '%pip install --upgrade dtrain-lab'
          : '%pip install dtrain-lab'}
      </code>
    </p>
  );
}
