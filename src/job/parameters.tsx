import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { FormError, IParameter, linesOf, withValue } from './request';
import { IProblem, Row } from './row';

/** A field for each parameter of the tagged cell, or all as text. */
export function Parameters(props: {
  text: string;
  change: (text: string) => void;
  problem?: IProblem;
  trans: TranslationBundle;
}): JSX.Element {
  const { text, change, problem, trans } = props;
  const [asText, setAsText] = useState(false);
  let fields: IParameter[] | null = null;
  try {
    fields = asText ? null : linesOf(text);
  } catch (error) {
    if (!(error instanceof FormError)) {
      throw error;
    }
    // what can't be read as fields stays a text
  }
  if (fields?.length) {
    return (
      <Row
        label={trans.__('Parameters')}
        help={
          <>
            {trans.__('From the cell tagged parameters.')}{' '}
            <button
              type="button"
              className="jp-Dtrain-link"
              onClick={() => setAsText(true)}
            >
              {trans.__('Edit as text')}
            </button>
          </>
        }
        group
        trans={trans}
      >
        {() => (
          <div className="jp-Dtrain-parameters">
            {fields?.map(({ name, value }) => (
              <label key={name}>
                <span>{name}</span>
                <input
                  className="jp-mod-styled"
                  value={value}
                  spellCheck={false}
                  onChange={event =>
                    change(withValue(text, name, event.target.value))
                  }
                />
              </label>
            ))}
          </div>
        )}
      </Row>
    );
  }
  return (
    <Row
      label={trans.__('Parameters')}
      problem={problem}
      help={
        <>
          {trans.__('They replace those of the cell tagged parameters.')}{' '}
          {asText && (
            <button
              type="button"
              className="jp-Dtrain-link"
              onClick={() => setAsText(false)}
            >
              {trans.__('Edit as fields')}
            </button>
          )}
        </>
      }
      trans={trans}
    >
      {id => (
        <textarea
          id={id}
          data-field="parameters"
          className="jp-mod-styled"
          rows={3}
          spellCheck={false}
          value={text}
          aria-invalid={!!problem}
          onChange={event => change(event.target.value)}
        />
      )}
    </Row>
  );
}
