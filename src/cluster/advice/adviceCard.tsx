import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Advice, ITriedAt, Metrics } from '../../tokens';
import { inOrder, isVain, withTried } from '../../advice/order';
import { adviceTitle, gainNote, helped, rateText } from '../../advice/tried';
import { unbroken } from '../../metrics/format';
import { Icon } from '../../ui/icons/icon';
import { useViewState } from '../../ui/viewState';
import { cellOf, words } from '../../advice/texts';

interface IAdviceProps {
  /** Id of the cluster. */
  cluster: string;
  /** All advice, the best first. */
  advice: readonly Advice[];
  dismissed: (advice: string) => boolean;
  metrics: Metrics;
  /** Whether a cell runs: trials need the ranks. */
  runs: boolean;
  /** Show its change; null where that is impossible. */
  onShow: ((advice: Advice) => void) | null;
  /** Whether its change is in the cell. */
  kept: (advice: Advice) => boolean;
  /** Whether it is being measured. */
  trying: (advice: string) => boolean;
  /** What was tried last, and where: its result is shown there; null for none. */
  tried: ITriedAt | null;
  /** Measure it; ends once that is done. `at`: its place among the others. */
  onTry: (advice: Advice, at: number) => Promise<unknown>;
  /** Apply the change to the cell; null where that is impossible. */
  onKeep: ((advice: Advice) => void) | null;
  /** Dismiss advice, or show it again. */
  onDismiss: (advice: Advice, dismissed: boolean) => void;
  trans: TranslationBundle;
}

/** The same, for one piece of advice, which knows its place. */
type IItemProps = Omit<IAdviceProps, 'onTry'> & {
  onTry: (advice: Advice) => Promise<unknown>;
};

/** Advice on faster training, the best first, the others on demand; nothing is changed by itself. */
export function AdviceCard(props: IAdviceProps): JSX.Element | null {
  const [open, setOpen] = useViewState(`advice ${props.cluster}`, false);
  const list = React.useId();
  const card = React.useRef<HTMLElement>(null);
  const back = React.useRef<HTMLButtonElement>(null);
  const acted = React.useRef(false);
  const { advice, trans } = props;
  const stays = useShownUntried(props.cluster, advice);
  const away = advice.filter(a => props.dismissed(a.id));
  React.useEffect(() => {
    // the pressed button is gone: focus its neighbour
    if (acted.current) {
      acted.current = false;
      (back.current ?? card.current)?.focus();
    }
  }, [away.length]);
  if (!advice.length) {
    return null;
  }
  const placed = withTried(
    inOrder(advice, stays).filter(a => !away.includes(a)),
    props.tried
  );
  const [first, ...others] = placed;
  const shown = {
    ...props,
    onTry: (item: Advice) => props.onTry(item, placed.indexOf(item)),
    onDismiss: (item: Advice) => {
      acted.current = true;
      props.onDismiss(item, true);
    }
  };
  return (
    <aside
      className={first ? 'jp-DtrainUi-advice' : 'jp-DtrainUi-noAdvice'}
      aria-label={trans.__('Advice')}
      ref={card}
      tabIndex={-1}
    >
      {first && <Icon kind="advice" />}
      <div>
        {first && (
          <Item {...shown} item={first}>
            {others.length > 0 && (
              <button
                type="button"
                className="jp-DtrainUi-link"
                aria-expanded={open}
                aria-controls={list}
                onClick={() => setOpen(!open)}
              >
                {open
                  ? trans.__('Show less')
                  : trans._n('%1 more…', '%1 more…', others.length)}
              </button>
            )}
          </Item>
        )}
        <ul id={list} className="jp-DtrainUi-adviceMore" hidden={!open}>
          {open &&
            others.map(other => (
              <li key={other.id}>
                <Item {...shown} item={other} />
              </li>
            ))}
        </ul>
        {away.length > 0 && (
          <p className="jp-DtrainUi-links jp-DtrainUi-adviceAway">
            <span>
              {trans._n(
                '%1 piece of advice dismissed',
                '%1 pieces of advice dismissed',
                away.length
              )}
            </span>
            <button
              type="button"
              className="jp-DtrainUi-link"
              aria-label={trans.__('Show dismissed advice')}
              ref={back}
              onClick={() => {
                acted.current = true;
                away.forEach(a => props.onDismiss(a, false));
              }}
            >
              {trans.__('Show')}
            </button>
          </p>
        )}
      </div>
    </aside>
  );
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Ids of advice that this card showed before it was tried in vain: it must not move away from the pointer
 * when its measurement arrives.
 */
function useShownUntried(
  cluster: string,
  advice: readonly Advice[]
): ReadonlySet<string> {
  const [shown, setShown] = React.useState({ cluster, ids: NONE });
  const ids = shown.cluster === cluster ? shown.ids : NONE;
  React.useEffect(() => {
    const now = advice.filter(a => !isVain(a)).map(a => a.id);
    if (now.some(id => !ids.has(id))) {
      setShown({ cluster, ids: new Set([...ids, ...now]) });
    }
  }, [cluster, advice, ids]);
  return ids;
}

/** One piece of advice: the change with its gain, its cost, and actions. */
function Item(
  props: IItemProps & { item: Advice; children?: React.ReactNode }
): JSX.Element {
  const { item, metrics, onShow, onKeep, trans } = props;
  const { change, cost } = words(item, trans);
  const last = metrics.current === false;
  const rate = last
    ? (metrics.last?.samples_per_s ?? null)
    : metrics.samples_per_s;
  const { tried } = item;
  const shows = item.diff !== '' || !!item.values?.code;
  const cell = cellOf(item);
  const kept = !!tried && props.kept(item);
  return (
    <>
      <p>
        <b>{unbroken(adviceTitle(change, item, trans))}</b>
      </p>
      <p>
        {unbroken(
          [rateText(item, rate, last, trans), gainNote(item, trans), cost]
            .filter(Boolean)
            .join(' ')
        )}
      </p>
      <p className="jp-DtrainUi-links">
        {kept ? (
          <span>{trans.__('Kept. Run the cell again to train with it.')}</span>
        ) : (
          item.tryable && <Try {...props} />
        )}
        {onKeep && tried && helped(tried) && item.diff !== '' && !kept && (
          <button
            type="button"
            className="jp-DtrainUi-link"
            title={trans.__('Apply the change to the cell; Undo reverts it')}
            onClick={() => onKeep(item)}
          >
            {trans.__('Keep')}
          </button>
        )}
        {onShow && shows && (
          <button
            type="button"
            className="jp-DtrainUi-link"
            onClick={() => onShow(item)}
          >
            {cell
              ? unbroken(trans.__('Show the change in cell %1', cell))
              : trans.__('Show the change')}
          </button>
        )}
        <button
          type="button"
          className="jp-DtrainUi-link"
          onClick={() => props.onDismiss(item, true)}
        >
          {trans.__('Dismiss')}
        </button>
        {props.children}
      </p>
    </>
  );
}

/** Button that measures a change; disabled while a cell runs, with its reason. */
function Try(props: IItemProps & { item: Advice }): JSX.Element {
  const { item, runs, trans } = props;
  const trying = props.trying(item.id);
  return (
    <button
      type="button"
      className="jp-DtrainUi-link"
      aria-disabled={runs || trying}
      title={
        runs && !trying
          ? trans.__(
              'The ranks are busy: try the change once the cell has ended'
            )
          : trans.__(
              'Run some steps with and without the change, then undo these steps'
            )
      }
      onClick={() => {
        if (!runs && !trying) {
          void props.onTry(item);
        }
      }}
    >
      {trying
        ? trans.__('Trying…')
        : item.tried
          ? trans.__('Try again')
          : trans.__('Try it')}
    </button>
  );
}
