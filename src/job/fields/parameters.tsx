import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import {
  IParameter,
  linesOf,
  NoAssignment,
  withValue
} from '../model/assignments';
import { uniqueKeys } from '../../ui/lists/uniqueKeys';
import { labelOf } from './labels';
import { IProblem, Row } from './fieldRow';

/** A field for each parameter of the tagged cell, or all as text. */
export function Parameters(props: {
  text: string;
  change: (text: string) => void;
  problem?: IProblem;
  /** Whether a cell of the notebook has the tag. */
  tagged: boolean;
  trans: TranslationBundle;
}): JSX.Element {
  const { text, change, problem, trans } = props;
  const [asText, setAsText] = useState(false);
  let fields: IParameter[] | null = null;
  try {
    fields = linesOf(text);
  } catch (error) {
    if (!(error instanceof NoAssignment)) {
      throw error;
    }
    // assignments that can't be shown as fields stay text
  }
  if (fields?.length && !asText) {
    const wrong = new Set(problem?.parameters);
    const keys = uniqueKeys(fields.map(field => field.name));
    return (
      <Row
        label={labelOf('parameters', trans)}
        problem={problem}
        help={
          <>
            {props.tagged
              ? trans.__('From the cell tagged parameters.')
              : untaggedText(trans)}{' '}
            <button
              type="button"
              className="jp-DtrainUi-link"
              onClick={() => setAsText(true)}
            >
              {trans.__('Edit as text')}
            </button>
          </>
        }
        group
        trans={trans}
      >
        {aria => (
          <div className="jp-DtrainJob-parameters">
            {fields?.map(({ name, value }, index) => (
              <label
                key={keys[index]}
                data-wrong={wrong.has(name) || undefined}
              >
                <span title={name}>{name}</span>
                <input
                  data-field={
                    (wrong.size ? wrong.has(name) : index === 0)
                      ? 'parameters'
                      : undefined
                  }
                  aria-invalid={wrong.has(name)}
                  aria-describedby={aria['aria-describedby']}
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
      label={labelOf('parameters', trans)}
      problem={problem}
      help={
        <>
          {props.tagged
            ? trans.__(
                'These replace the values in the cell tagged parameters.'
              )
            : untaggedText(trans)}{' '}
          {asText && !!fields?.length && (
            <button
              type="button"
              className="jp-DtrainUi-link"
              onClick={() => setAsText(false)}
            >
              {trans.__('Edit as fields')}
            </button>
          )}
        </>
      }
      trans={trans}
    >
      {aria => (
        <textarea
          {...aria}
          data-field="parameters"
          className="jp-mod-styled"
          rows={3}
          spellCheck={false}
          value={text}
          aria-invalid={!!problem}
          onChange={event => {
            setAsText(true); // the box would become fields under the cursor
            change(event.target.value);
          }}
        />
      )}
    </Row>
  );
}

/** Where values go if no cell has the tag. */
function untaggedText(trans: TranslationBundle): string {
  return trans.__(
    'No cell of the notebook is tagged parameters, so these values are set before its first cell.'
  );
}
