import { TranslationBundle } from '@jupyterlab/translation';
import React, { useEffect, useId, useRef, useState } from 'react';

import { Glyph } from '../../ui/icons/glyph';
import { unbroken } from '../../metrics/format';
import { Refused } from '../model/kernelRequest';
import { DebugModel, SetBreakpoint } from '../model/model';
import { IPoint } from '../model/breakpoints';
import { GROWS } from './sectionHeights';

interface IProps {
  model: DebugModel;
  points: readonly IPoint[];
  /** Go to its line. */
  show: (point: IPoint) => void;
  /** The breakpoint whose form a command has opened last; another object each time. */
  edited?: Pick<IPoint, 'path' | 'line'> | null;
  /** Whether conditions can't be changed now: the kernel has not reported them. */
  fixed?: boolean;
  trans: TranslationBundle;
}

/** Breakpoints with their conditions. */
export function Breakpoints(props: IProps): JSX.Element | null {
  const { points, show, edited, fixed, trans } = props;
  const [open, setOpen] = useState<string | null>(null);
  useEffect(() => {
    if (edited) {
      setOpen(keyOf(edited));
    }
  }, [edited]);
  if (!points.length) {
    return null;
  }
  return (
    <section
      className="jp-DtrainDebug-points"
      aria-label={trans.__('Breakpoints')}
    >
      <ul>
        {points.map(point => {
          const key = keyOf(point);
          const asked = point.asks;
          const asks = [
            asked?.condition,
            asked?.hit && trans.__('hits %1', asked.hit),
            asked?.log && trans.__('prints "%1"', asked.log)
          ].filter(Boolean);
          return (
            <li key={key}>
              <span
                className="jp-DtrainDebug-point"
                data-asks={asks.length > 0 || undefined}
                aria-hidden
              />
              <button
                type="button"
                className="jp-DtrainDebug-pointName"
                title={point.path}
                onClick={() => show(point)}
              >
                {point.name}
              </button>
              {asks.length > 0 && <Asks text={asks.join(' · ')} />}
              {asked && !fixed && (
                <button
                  type="button"
                  className="jp-DtrainUi-link"
                  aria-expanded={open === key}
                  onClick={() => setOpen(open === key ? null : key)}
                >
                  {asks.length ? trans.__('Edit') : trans.__('Add a condition')}
                  <span className="jp-DtrainUi-hidden"> {point.name}</span>
                </button>
              )}
              {asked?.error && <Failed text={asked.error} />}
              {asked && !fixed && open === key && (
                <Edit {...props} point={asked} onDone={() => setOpen(null)} />
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function keyOf({ path, line }: Pick<IPoint, 'path' | 'line'>): string {
  return `${path}:${line}`;
}

/** Longer texts, in characters, are below the name of the breakpoint: beside it is little room. */
const BESIDE = 30;

function Asks({ text }: { text: string }): JSX.Element {
  return <code data-long={text.length > BESIDE || undefined}>{text}</code>;
}

/** What a condition raised: the section grows with it, and scrolls to it where there is no room to grow. */
function Failed({ text }: { text: string }): JSX.Element {
  const line = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const timer = window.setTimeout(
      () => line.current?.scrollIntoView({ block: 'nearest' }),
      GROWS
    );
    return () => window.clearTimeout(timer);
  }, [text]);
  return (
    <p role="status" className="jp-DtrainDebug-error" ref={line}>
      {unbroken(text)}
    </p>
  );
}

function Edit(
  props: Omit<IProps, 'points'> & { point: SetBreakpoint; onDone: () => void }
): JSX.Element {
  const { model, point, trans, onDone } = props;
  const [condition, setCondition] = useState(point.condition);
  const [hit, setHit] = useState(point.hit);
  const [log, setLog] = useState(point.log);
  const [error, setError] = useState('');
  const [code, setCode] = useState('');
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const [asked] = useState(document.activeElement);
  useEffect(
    () => () => {
      // the focused element is gone with the form: focus the button that opened it
      if (document.activeElement === document.body) {
        (asked as HTMLElement | null)?.focus();
      }
    },
    [asked]
  );
  // once the section has grown, and whenever its content grows
  useEffect(() => {
    const timer = window.setTimeout(
      () => form.current?.scrollIntoView({ block: error ? 'end' : 'nearest' }),
      GROWS
    );
    return () => window.clearTimeout(timer);
  }, [error]);
  const save = (event: React.FormEvent): void => {
    event.preventDefault();
    const { path, line } = point;
    model
      .send('dtrain/breakpoint', { path, line, condition, hit, log })
      .then(onDone)
      .catch((reason: unknown) => {
        setError(reason instanceof Error ? reason.message : String(reason));
        setCode(reason instanceof Refused ? (reason.code ?? '') : '');
      });
  };
  /** Marks the field that the kernel can't read. */
  const aria = (field: 'condition' | 'hit' | 'log'): React.AriaAttributes =>
    code === `unreadable_${field}`
      ? { 'aria-invalid': true, 'aria-describedby': id }
      : {};
  return (
    <form
      className="jp-DtrainDebug-edit"
      onSubmit={save}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          onDone();
        }
      }}
      ref={form}
    >
      <label>
        {trans.__('Stop if')}
        <input
          {...aria('condition')}
          value={condition}
          placeholder="rank == 3 and loss.isnan()"
          onChange={event => setCondition(event.target.value)}
          autoFocus
        />
      </label>
      <label>
        {trans.__('Hits')}
        <input
          {...aria('hit')}
          value={hit}
          placeholder=">= 3"
          onChange={event => setHit(event.target.value)}
        />
      </label>
      <label>
        {trans.__('Or print')}
        <input
          {...aria('log')}
          value={log}
          placeholder="loss is {loss.item():.3f}"
          onChange={event => setLog(event.target.value)}
        />
      </label>
      {error && (
        <p id={id} role="alert" className="jp-DtrainDebug-error">
          <Glyph kind="failed" label="" /> {error}
        </p>
      )}
      <div className="jp-DtrainUi-actions">
        <button type="submit" className="jp-DtrainUi-button jp-mod-primary">
          {trans.__('Save')}
        </button>
        <button type="button" className="jp-DtrainUi-button" onClick={onDone}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}
