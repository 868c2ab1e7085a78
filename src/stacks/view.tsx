import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { ISignal } from '@lumino/signaling';
import React, { useCallback, useEffect, useRef, useState } from 'react';

import { RequestError } from '../request/rest';
import { Stack, Verdict } from '../tokens';
import { formatClock } from '../metrics/format';
import { VisibleWidget } from '../ui/visibleWidget';
import { stacksIcon } from '../ui/icons/viewIcons';
import { groupStacks } from './groupStacks';
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
  /** Emitted when that may have changed. */
  changed: ISignal<unknown, void>;
  copy: (text: string) => void;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Delay before the spinner is shown, ms: most answers are there sooner. */
const SOON = 300;
/** A verdict that arrives within this time after the stacks belongs to them, ms. */
const SAID_WITHIN_MS = 5000;

interface IAnswer {
  stacks: readonly Stack[];
  verdict: Verdict | null;
  at: Date;
}

function View(
  props: IStacksProps & {
    only: readonly number[] | null;
    onAll: () => void;
    asked: number;
  }
): JSX.Element {
  const { of, ask, verdict, trans, only } = props;
  const [answer, setAnswer] = useState<IAnswer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [slow, setSlow] = useState(false);
  const number = useRef(0);
  const refresh = useCallback(async () => {
    const mine = ++number.current;
    const timer = window.setTimeout(() => setSlow(true), SOON);
    setBusy(true);
    try {
      const stacks = await ask();
      if (mine === number.current) {
        setAnswer({ stacks, verdict: verdict(), at: new Date() });
        setError(null);
      }
    } catch (failure) {
      if (mine === number.current) {
        setError(failure);
      }
    } finally {
      window.clearTimeout(timer);
      if (mine === number.current) {
        setBusy(false);
        setSlow(false);
      }
    }
  }, [ask, verdict]);
  useEffect(() => {
    void refresh();
    const { current } = number;
    return () => {
      number.current = current + 1;
    };
  }, [refresh, props.asked]);

  // a page that was just loaded receives the verdict a little later
  const unsaid = answer !== null && answer.verdict === null;
  useEffect(() => {
    const look = (): void => {
      const said = verdict();
      if (said) {
        // it does not apply to older stacks
        setAnswer(known =>
          known && Date.now() - known.at.getTime() < SAID_WITHIN_MS
            ? { ...known, verdict: said }
            : known
        );
      }
    };
    if (unsaid) {
      props.changed.connect(look);
    }
    return () => {
      props.changed.disconnect(look);
    };
  }, [unsaid, verdict, props.changed]);

  // the verdict at the time of the request may be over by now
  const [over, setOver] = useState(false);
  const said = answer?.verdict ?? null;
  useEffect(() => {
    const look = (): void => setOver(said !== null && verdict() === null);
    look();
    props.changed.connect(look);
    return () => {
      props.changed.disconnect(look);
    };
  }, [said, verdict, props.changed]);

  const shown = answer?.stacks.filter(s => !only || only.includes(s.rank));
  const groups = shown ? groupStacks(shown, answer?.verdict ?? null) : [];
  return (
    <>
      <div className="jp-DtrainUi-viewHead">
        <b>{of.name}</b>
        <span className="jp-DtrainUi-under">
          {answer && trans.__('as of %1', formatClock(answer.at, true))}
        </span>
        {only && (
          <button
            type="button"
            className="jp-DtrainUi-button"
            onClick={props.onAll}
          >
            {trans.__('All ranks')}
          </button>
        )}
        <button
          type="button"
          className="jp-DtrainUi-button"
          disabled={busy}
          onClick={() => void refresh()}
        >
          {trans.__('Refresh')}
        </button>
        <button
          type="button"
          className="jp-DtrainUi-button"
          disabled={!groups.length}
          onClick={() => props.copy(stacksText(of.name, groups, trans))}
        >
          {trans.__('Copy as text')}
        </button>
      </div>
      <div className="jp-DtrainStacks-says" role="status">
        {busy && slow && !answer
          ? trans.__('Asking the ranks where they are…')
          : error === null && groups.length > 0
            ? over && answer
              ? trans.__(
                  'At %1: %2',
                  formatClock(answer.at, true),
                  said?.text ?? ''
                )
              : (said?.text ?? sentenceOf(groups, trans))
            : null}
      </div>
      {error !== null && (
        <Failed error={error} trans={trans} onAgain={() => void refresh()} />
      )}
      {busy && slow && !answer && (
        <div className="jp-DtrainStacks-loading" aria-hidden="true">
          <i />
          <i />
          <i />
        </div>
      )}
      {answer && error === null && !groups.length && (
        <p className="jp-DtrainUi-note">
          {trans.__('%1 has no ranks right now.', of.name)}
        </p>
      )}
      {error === null &&
        groups.map(group => (
          <Group
            key={`${group.ranks[0]}`}
            group={group}
            byPosition={of.kind === 'job'}
            commands={props.commands}
            trans={trans}
          />
        ))}
    </>
  );
}

function Failed(props: {
  error: unknown;
  trans: TranslationBundle;
  onAgain: () => void;
}): JSX.Element {
  const { error, trans } = props;
  const known = error instanceof RequestError ? error.body : null;
  return (
    <div className="jp-DtrainStacks-failed" role="alert">
      <b>{known?.message ?? trans.__('The ranks could not be reached.')}</b>
      <p>
        {known?.hint ??
          (error instanceof Error ? error.message : String(error))}
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
    super(() => undefined, _props.trans);
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
