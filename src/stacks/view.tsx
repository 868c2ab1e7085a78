import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ISignal } from '@lumino/signaling';
import React from 'react';

import { RequestError } from '../request/rest';
import { Stack, Verdict } from '../tokens';
import { formatClock } from '../metrics/format';
import { Action } from '../ui/actionButton';
import { VisibleWidget } from '../ui/visibleWidget';
import { stacksIcon } from '../ui/icons/viewIcons';
import { IAnswer, useStacks } from './answer';
import { groupStacks, IStackGroup } from './groupStacks';
import { Group } from './rows';
import { sentenceOf, stacksText } from './texts';

/** Source of the stacks of a view. */
export interface IStacksOf {
  kind: 'cluster' | 'job';
  id: string;
  name: string;
}

/** Name of the source. */
export interface IStacksProps {
  of: IStacksOf;
  /** Asks the ranks. */
  ask: () => Promise<readonly Stack[]>;
  /** The current verdict on the world. */
  verdict: () => Verdict | null;
  /** Whether the cluster or job has ended: its ranks can't be asked any more. */
  ended: () => boolean;
  /** Emitted when these may have changed. */
  changed: ISignal<unknown, void>;
  copy: (text: string) => void;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

function View(
  props: IStacksProps & {
    only: readonly number[] | null;
    onAll: () => void;
    asked: number;
  }
): JSX.Element {
  const { of, trans, only } = props;
  const { answer, busy, slow, over, ended, refresh, ...asked } =
    useStacks(props);
  // what went wrong as it ended needs no more explanation
  const error = ended ? null : asked.error;
  const shown = answer?.stacks.filter(s => !only || only.includes(s.rank));
  const groups = shown ? groupStacks(shown, answer?.verdict ?? null) : [];
  const waits = busy && slow && !answer;
  return (
    <>
      <Head
        {...props}
        answer={answer}
        groups={groups}
        ended={ended}
        onAgain={refresh}
      />
      {ended && (
        <p className="jp-DtrainUi-note" role="status">
          {groups.length
            ? trans.__(
                '%1 has ended. These are the last stacks of its ranks.',
                of.name
              )
            : trans.__('%1 has ended.', of.name)}
        </p>
      )}
      <div className="jp-DtrainStacks-says" role="status">
        {waits
          ? trans.__('Asking the ranks where they are…')
          : answer && groups.length > 0
            ? saidOf(answer, over || ended, groups, trans)
            : null}
      </div>
      {error !== null && (
        <Failed error={error} trans={trans} onAgain={() => void refresh()} />
      )}
      {waits && (
        <div className="jp-DtrainStacks-loading" aria-hidden="true">
          <i />
          <i />
          <i />
        </div>
      )}
      {answer && error === null && !ended && !groups.length && (
        <p className="jp-DtrainUi-note">
          {trans.__('%1 has no ranks right now.', of.name)}
        </p>
      )}
      {groups.map(group => (
        <Group
          key={`${group.ranks[0]}`}
          group={group}
          ended={ended}
          byPosition={of.kind === 'job'}
          commands={props.commands}
          trans={trans}
        />
      ))}
    </>
  );
}

/** The sentence above the stacks: the verdict, with its time if it is over, or which ranks differ. */
function saidOf(
  answer: IAnswer,
  over: boolean,
  groups: readonly IStackGroup[],
  trans: TranslationBundle
): string {
  const text = answer.verdict?.text ?? sentenceOf(groups, trans);
  return over
    ? trans.__('At %1: %2', formatClock(answer.at, true), text)
    : text;
}

/** Whose stacks these are, as of when, and what can be done with them. */
function Head(
  props: Omit<IStacksProps, 'ended'> & {
    answer: IAnswer | null;
    groups: readonly IStackGroup[];
    only: readonly number[] | null;
    ended: boolean;
    onAll: () => void;
    onAgain: () => Promise<void>;
  }
): JSX.Element {
  const { of, answer, groups, trans } = props;
  return (
    <div className="jp-DtrainUi-viewHead">
      <b>{of.name}</b>
      <span className="jp-DtrainUi-under">
        {answer && trans.__('as of %1', formatClock(answer.at, true))}
      </span>
      {props.only && (
        <button
          type="button"
          className="jp-DtrainUi-button"
          onClick={props.onAll}
        >
          {trans.__('All ranks')}
        </button>
      )}
      <Action
        label={trans.__('Refresh')}
        why={props.ended ? trans.__('%1 has ended.', of.name) : null}
        onClick={props.onAgain}
      />
      <button
        type="button"
        className="jp-DtrainUi-button"
        disabled={!groups.length}
        onClick={() => props.copy(stacksText(of.name, groups, trans))}
      >
        {trans.__('Copy as text')}
      </button>
    </div>
  );
}

function Failed(props: {
  error: unknown;
  trans: TranslationBundle;
  onAgain: () => void;
}): JSX.Element {
  const { error, trans } = props;
  const body = error instanceof RequestError ? error.body : null;
  return (
    <div className="jp-DtrainStacks-failed" role="alert">
      <b>{body?.message ?? trans.__('The ranks could not be reached.')}</b>
      <p>
        {body?.hint ?? (error instanceof Error ? error.message : String(error))}
      </p>
      <button
        type="button"
        className="jp-DtrainUi-button"
        onClick={props.onAgain}
      >
        {trans.__('Try again')}
      </button>
    </div>
  );
}

/** Stacks of one cluster or job, in the main area. */
export class StacksView extends VisibleWidget {
  constructor(private _props: IStacksProps) {
    super(() => null, _props.trans);
    const { trans, of } = _props;
    this.id = `dtrain-lab-stacks-${of.kind}-${of.id}`;
    this.title.label = trans.__('Stacks: %1', of.name);
    this.title.icon = stacksIcon;
    this.title.closable = true;
    this.addClass('jp-DtrainUi-view');
    this.addClass('jp-DtrainStacks');
    this.node.setAttribute('aria-label', trans.__('Stacks of %1', of.name));
  }

  /** Arguments with which a restored layout opens it. */
  get of(): IStacksOf {
    return this._props.of;
  }

  /** Request the stacks again, and show only these ranks; null for all. */
  ask(ranks: readonly number[] | null): void {
    this._only = ranks;
    this._asked++;
    this.update();
  }

  /** Stacks are not requested again each time it becomes visible. */
  protected override get drawn(): boolean {
    return true;
  }

  protected draw(): JSX.Element {
    return (
      <View
        {...this._props}
        only={this._only}
        asked={this._asked}
        onAll={() => {
          this._only = null;
          this.update();
        }}
      />
    );
  }

  private _asked = 0;
  private _only: readonly number[] | null = null;
}
