import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { CommandIDs } from '../commands';
import { Cluster } from '../tokens';
import { Action } from '../ui/actionButton';
import { Icon } from '../ui/icons/icon';
import { IMenuItem, MenuButton } from '../ui/menu';
import { ranksText } from '../verdicts/sentence';

const MINUTES = [1, 5, 15, 60];

/** The user's choice of what the view shows. */
export interface IChoice {
  filter: string;
  minutes: number;
  /** Order of the rows of the heat map. */
  order: 'node' | 'slowest';
  paused: boolean;
}

/** Header: the cluster, filters, and further actions. */
export function ViewHead(props: {
  cluster: Cluster;
  /** Whether it can still be reached. */
  live: boolean;
  choice: IChoice;
  /** Ranks that pass the filter. */
  matching: number;
  onChoose: (choice: IChoice) => void;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { cluster, choice, matching, onChoose, commands, trans } = props;
  const { size } = cluster.world;
  const { id } = cluster;
  const may = props.live && cluster.may.includes('stacks');
  const why = may ? null : trans.__("%1 can't be reached now.", cluster.name);
  return (
    <div className="jp-DtrainUi-viewHead">
      <b>{cluster.name}</b>
      <span className="jp-DtrainRanks-size" aria-live="polite">
        {choice.filter
          ? trans.__('%1 of %2', matching, ranksText(size, trans))
          : ranksText(size, trans)}{' '}
        · {trans._n('%1 node', '%1 nodes', cluster.nodes.length)} ·{' '}
        {cluster.profile}
      </span>
      <span className="jp-DtrainRanks-controls">
        <span className="jp-DtrainRanks-search">
          <Icon kind="search" />
          <input
            type="search"
            value={choice.filter}
            placeholder={trans.__('0-7, gpu-03, slow, …')}
            aria-label={trans.__('Filter ranks')}
            onChange={event =>
              onChoose({ ...choice, filter: event.target.value })
            }
          />
        </span>
        <select
          value={choice.order}
          aria-label={trans.__('Order of the ranks over time')}
          onChange={event =>
            onChoose({
              ...choice,
              order: event.target.value as IChoice['order']
            })
          }
        >
          <option value="node">{trans.__('By node')}</option>
          <option value="slowest">{trans.__('Slowest first')}</option>
        </select>
        <select
          value={choice.minutes}
          aria-label={trans.__('Time window')}
          onChange={event =>
            onChoose({ ...choice, minutes: Number(event.target.value) })
          }
        >
          {MINUTES.map(m => (
            <option key={m} value={m}>
              {m === 60 ? trans.__('Last hour') : trans.__('Last %1 min', m)}
            </option>
          ))}
        </select>
        <button
          type="button"
          className="jp-DtrainUi-tool"
          aria-pressed={choice.paused}
          aria-label={trans.__('Pause')}
          title={choice.paused ? trans.__('Go on') : trans.__('Pause')}
          onClick={() => onChoose({ ...choice, paused: !choice.paused })}
        >
          <Icon kind={choice.paused ? 'start' : 'pause'} />
        </button>
        <Action
          label={trans.__('Stacks')}
          hidden={!commands.hasCommand(CommandIDs.showStacks)}
          className="jp-DtrainUi-tool"
          why={why}
          onClick={() => void commands.execute(CommandIDs.showStacks, { id })}
        />
        <MenuButton
          label={trans.__('More')}
          className="jp-DtrainUi-tool"
          commands={commands}
          items={() => menu(id, may)}
        />
      </span>
    </div>
  );
}

function menu(id: string, may: boolean): IMenuItem[] {
  const formats = ['csv', 'json', 'tensorboard'];
  return [
    ...(may ? [{ command: CommandIDs.diagnose, args: { id } }] : []),
    ...formats.map(format => ({
      command: CommandIDs.exportHistory,
      args: { id, format }
    })),
    { command: CommandIDs.copyReport, args: { id } }
  ];
}
