import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useRef, useState } from 'react';

import { reportErrors } from '../../cluster/dialogs/reportErrors';
import { confirmLoss } from '../../cluster/dialogs/dialogs';
import { CommandIDs } from '../../commands';
import { Holder, IJobs, ILiveState, ISite, Slots } from '../../tokens';
import { DEFAULT_PROFILE } from '../../cluster/model/site';
import { CommandLink } from '../../ui/text/commandLink';
import { useChanges } from '../../ui/useChanges';
import { useViewState } from '../../ui/viewState';
import { usePoll } from '../../ui/hooks/poll';
import { refusalOf } from '../model/refusal';

/** Polling interval while the view is visible, ms. */
const AGAIN = 5000;

/** A holder of slots of a node, with their number. */
export interface IHeld {
  holder: Holder;
  slots: number;
  devices: string[];
}

/** Holders of a node's slots with their numbers, the largest first. */
export function heldOf(node: Slots['nodes'][number]): IHeld[] {
  const holders = new Map<string, IHeld>();
  for (const { held_by: holder, device } of node.slots) {
    if (holder) {
      const key = `${holder.kind} ${holder.id}`;
      const held = holders.get(key) ?? { holder, slots: 0, devices: [] };
      held.slots += 1;
      held.devices.push(device);
      holders.set(key, held);
    }
  }
  return [...holders.values()].sort((a, b) => b.slots - a.slots);
}

/**
 * "2 of 16 slots are free". Where holders share slots, theirs add up to more than the machine has: its own number counts,
 * as for a job that waits.
 */
export function freeText(
  { slots, excess }: Slots['nodes'][number],
  trans: TranslationBundle
): string {
  const free = trans._n(
    '%2 of %1 slot is free',
    '%2 of %1 slots are free',
    slots.length - excess,
    slots.filter(s => !s.held_by).length
  );
  return excess > 0 ? trans.__('%1, and some are shared', free) : free;
}

interface ISlotsProps {
  model: ILiveState;
  site: ISite;
  jobs: IJobs;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Holders of the slots of this machine, or of a profile's hosts: why a job does not start. */
export function SlotsSection(props: ISlotsProps): JSX.Element {
  const { trans } = props;
  const [open, setOpen] = useViewState('slots', false);
  const section = useRef<HTMLDetailsElement>(null);
  return (
    <details
      ref={section}
      className="jp-DtrainJob-slots"
      open={open}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>{trans.__('Slots: in use and queued')}</summary>
      {open && <Machines {...props} section={section} />}
    </details>
  );
}

/** Current slots of a profile's machines. */
function Machines(
  props: ISlotsProps & { section: React.RefObject<HTMLDetailsElement> }
): JSX.Element {
  const { model, site, jobs, section, trans } = props;
  useChanges(site);
  useChanges(model);
  const [profile, setProfile] = useViewState('slots of', DEFAULT_PROFILE);
  const [found, setFound] = useState<{ profile: string; slots: Slots }>();
  const [error, setError] = useState('');
  const showing = async (asked: Promise<Slots>): Promise<void> => {
    try {
      setFound({ profile, slots: await asked });
      setError('');
    } catch (failure) {
      const refusal = refusalOf(failure, trans);
      setError(refusal.message);
      throw refusal;
    }
  };
  const refresh = usePoll(`slots ${profile}`, AGAIN, async () => {
    await showing(jobs.slots(profile));
    return true;
  });
  const stop = async (holder: Holder): Promise<void> => {
    const sure = await confirmLoss(
      trans.__('Stop process %1?', holder.pid ?? ''),
      trans.__(
        "%1 ends, and everything in its memory is lost. A notebook's kernel restarts.",
        holder.name
      ),
      trans.__('Stop'),
      trans
    );
    if (sure) {
      await reportErrors(trans, async () => {
        await jobs.stopHolder(holder.id, profile);
        refresh();
      });
    }
  };
  const profiles = site.profiles.filter(p => p.traits && !p.traits.schedules);
  const nodes = found?.profile === profile ? found.slots.nodes : [];
  const [sought, setSought] = useViewState('slots sought', false);
  const known = nodes.length > 0;
  useEffect(() => {
    // only then is it as high as it will be
    if (sought && known) {
      section.current?.scrollIntoView({ block: 'start' });
      section.current?.querySelector('summary')?.focus();
      setSought(false);
    }
  }, [sought, known, section, setSought]);
  return (
    <>
      {profiles.length > 1 && (
        <select
          className="jp-mod-styled"
          aria-label={trans.__('Machines of the profile')}
          value={profile}
          onChange={event => setProfile(event.target.value)}
        >
          {profiles.map(p => (
            <option key={p.name} value={p.name}>
              {p.name}
            </option>
          ))}
        </select>
      )}
      {error && <p role="status">{error}</p>}
      {nodes.map(node => (
        <section key={node.name} aria-label={node.name}>
          <p>
            <b>{node.name}</b> {freeText(node, trans)}
          </p>
          <ul>
            {heldOf(node).map(held => (
              <li key={held.holder.id}>
                <Name {...props} holder={held.holder} />{' '}
                <span className="jp-DtrainUi-under">
                  {trans._n('%1 slot', '%1 slots', held.slots)}
                  {held.devices[0].startsWith('cuda')
                    ? ` · ${held.devices.join(', ')}`
                    : ''}
                  {whose(held.holder, props.model, trans)}
                </span>{' '}
                {held.holder.may_stop && (
                  <button
                    type="button"
                    className="jp-DtrainUi-link"
                    aria-label={trans.__(
                      'Stop process %1',
                      held.holder.pid ?? ''
                    )}
                    onClick={() => void stop(held.holder)}
                  >
                    {trans.__('Stop…')}
                  </button>
                )}
              </li>
            ))}
            {node.waiting.map(holder => (
              <li key={holder.id}>
                <Name {...props} holder={holder} />{' '}
                <span className="jp-DtrainUi-under">
                  {trans.__('waits')}
                  {whose(holder, props.model, trans)}
                </span>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

/** Whether this server knows a holder; unknown before its first frame. */
export function isForeign(holder: Holder, model: ILiveState): boolean {
  if (holder.kind === 'foreign' || model.link !== 'open') {
    return false;
  }
  const known: readonly { id: string }[] =
    holder.kind === 'job' ? model.jobs : model.clusters;
  return !known.some(({ id }) => id === holder.id);
}

/** Whose a holder is, and that this server does not know it: " · ann"; empty for neither. */
export function whose(
  holder: Holder,
  model: ILiveState,
  trans: TranslationBundle
): string {
  const other = isForeign(holder, model)
    ? trans.__('not of this Jupyter server')
    : '';
  return ['', holder.owner, other].filter((s, i) => s || !i).join(' · ');
}

function Name(props: {
  holder: Holder;
  model: ILiveState;
  commands: CommandRegistry;
  trans: TranslationBundle;
}): JSX.Element {
  const { holder, model, commands, trans } = props;
  const label = {
    cluster: trans.__('cluster %1', holder.name),
    job: trans.__('job %1', holder.name),
    foreign: trans.__('process %1 %2', holder.pid ?? '', holder.name)
  }[holder.kind];
  if (holder.kind === 'foreign' || isForeign(holder, model)) {
    return <>{label}</>; // there is no view of it here
  }
  const command =
    holder.kind === 'job' ? CommandIDs.openJob : CommandIDs.showRanks;
  return (
    <CommandLink
      command={command}
      args={{ id: holder.id, name: holder.name }}
      commands={commands}
      className="jp-DtrainUi-link"
    >
      {label}
    </CommandLink>
  );
}
