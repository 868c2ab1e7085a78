import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { DebugModel, SetBreakpoint } from './model';

interface IProps {
  model: DebugModel;
  points: readonly SetBreakpoint[];
  /** Name of a place for a person: "cell [9]:6", "model.py:42". */
  nameOf: (point: SetBreakpoint) => string;
  trans: TranslationBundle;
}

/** Breakpoints of ranks, with what each asks before it stops. */
export function Breakpoints(props: IProps): JSX.Element | null {
  const { points, nameOf, trans } = props;
  const [open, setOpen] = useState<string | null>(null);
  if (!points.length) {
    return null;
  }
  return (
    <section className="jp-Dtrain-debugPoints">
      <h3>{trans.__('Breakpoints on ranks')}</h3>
      <ul>
        {points.map(point => {
          const name = nameOf(point);
          const asks = [
            point.condition,
            point.hit && trans.__('hits %1', point.hit),
            point.log && trans.__('prints "%1"', point.log)
          ].filter(Boolean);
          return (
            <li key={`${point.path}:${point.line}`}>
              <span
                className="jp-Dtrain-debugPoint"
                data-asks={asks.length > 0 || undefined}
                aria-hidden
              />
              <span>
                {name} <code>{asks.join(' · ')}</code>
              </span>
              <button
                type="button"
                className="jp-Dtrain-link"
                aria-expanded={open === name}
                onClick={() => setOpen(open === name ? null : name)}
              >
                {asks.length ? trans.__('Edit') : trans.__('Add a condition')}
                <span className="jp-Dtrain-hidden"> {name}</span>
              </button>
              {open === name && (
                <Edit {...props} point={point} onDone={() => setOpen(null)} />
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Edit(
  props: IProps & { point: SetBreakpoint; onDone: () => void }
): JSX.Element {
  const { model, point, trans, onDone } = props;
  const [condition, setCondition] = useState(point.condition);
  const [hit, setHit] = useState(point.hit);
  const [log, setLog] = useState(point.log);
  const [error, setError] = useState('');
  const save = (event: React.FormEvent): void => {
    event.preventDefault();
    const { path, line } = point;
    model
      .send('dtrain/breakpoint', { path, line, condition, hit, log })
      .then(onDone)
      .catch((reason: unknown) =>
        setError(reason instanceof Error ? reason.message : String(reason))
      );
  };
  return (
    <form className="jp-Dtrain-debugEdit" onSubmit={save}>
      <label>
        {trans.__('Stop if')}
        <input
          value={condition}
          placeholder="rank == 3 and loss.isnan()"
          onChange={event => setCondition(event.target.value)}
          autoFocus
        />
      </label>
      <label>
        {trans.__('Hits')}
        <input
          value={hit}
          placeholder=">= 3"
          onChange={event => setHit(event.target.value)}
        />
      </label>
      <label>
        {trans.__('Print, and go on')}
        <input
          value={log}
          placeholder="loss is {loss.item():.3f}"
          onChange={event => setLog(event.target.value)}
        />
      </label>
      {error && (
        <p role="alert" className="jp-Dtrain-error">
          {error}
        </p>
      )}
      <div className="jp-Dtrain-actions">
        <button type="submit" className="jp-Dtrain-button jp-mod-primary">
          {trans.__('Save')}
        </button>
        <button type="button" className="jp-Dtrain-button" onClick={onDone}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}
