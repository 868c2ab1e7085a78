import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../commands';
import { whyNoJob } from '../job/model/executedPaths';
import { ILiveState, ISelection, ISite } from '../tokens';
import { Action } from '../ui/actionButton';
import { IMenuItem, MenuButton } from '../ui/menu';

/** Actions that are always available: start, submit, and others in a menu. */
export function PanelToolbar(props: {
  model: ILiveState;
  site: ISite;
  selection: ISelection;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { model, site, commands, trans } = props;
  const { path } = props.selection.notebook;
  const mayWrite = site.facts?.may_write ?? false;
  const lost =
    model.link === 'lost'
      ? trans.__('There is no connection to the server.')
      : null;
  const noNotebook =
    path === null
      ? trans.__('First open the notebook you want to submit.')
      : whyNoJob(path, trans);
  return (
    <div className="jp-DtrainSidebar-toolbar">
      <h1>{trans.__('Distributed')}</h1>
      <span role="toolbar" aria-label={trans.__('Distributed')}>
        {mayWrite && (
          <>
            <Action
              label={trans.__('Start')}
              hidden={!commands.hasCommand(CommandIDs.startCluster)}
              icon="add"
              compact
              className="jp-DtrainUi-tool"
              why={lost}
              onClick={() =>
                commands.execute(CommandIDs.startCluster, { ask: true })
              }
            />
            <Action
              label={trans.__('Submit')}
              hidden={!commands.hasCommand(CommandIDs.submitNotebook)}
              icon="submit"
              compact
              className="jp-DtrainUi-tool"
              why={lost ?? noNotebook}
              onClick={() =>
                void commands.execute(CommandIDs.submitNotebook, {
                  path
                })
              }
            />
          </>
        )}
        <MenuButton
          label={trans.__('More')}
          className="jp-DtrainUi-tool"
          commands={commands}
          items={() => menu(commands, props.selection.cluster?.id ?? null)}
        />
      </span>
    </div>
  );
}

/** Further actions; those that are not installed are left out. */
function menu(commands: CommandRegistry, shown: string | null): IMenuItem[] {
  const items: IMenuItem[] = [
    { command: CommandIDs.showRanks, args: shown ? { id: shown } : {} },
    { command: CommandIDs.showJobs, args: {} },
    { command: CommandIDs.goToProblem, args: {} },
    { command: CommandIDs.editProfile, args: {} },
    { command: CommandIDs.deleteProfile, args: {} },
    { command: CommandIDs.openQuickstart, args: {} },
    { command: 'settingeditor:open', args: { query: 'Distributed' } }
  ];
  return items.filter(item => commands.hasCommand(item.command));
}
