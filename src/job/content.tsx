import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { JobPlan, Profile } from '../tokens';
import { IForm } from './request';
import { IProblem, Row } from './row';

/** Where Python comes from: as the profile says, as here, or another. */
export function Environment(props: {
  form: IForm;
  change: (part: Partial<IForm>) => void;
  problem?: IProblem;
  profile: Profile | undefined;
  trans: TranslationBundle;
}): JSX.Element {
  const { form, change, problem, profile, trans } = props;
  const theirs = profile?.profile?.environment;
  const [other, setOther] = useState(
    !['', 'current'].includes(form.environment)
  );
  const chosen = other ? 'other' : form.environment;
  return (
    <Row label={trans.__('Environment')} problem={problem} trans={trans}>
      {id => (
        <>
          <select
            id={id}
            data-field="environment"
            className="jp-mod-styled"
            value={chosen}
            onChange={event => {
              const value = event.target.value;
              setOther(value === 'other');
              change({ environment: value === 'other' ? 'venv:' : value });
            }}
          >
            <option value="">
              {theirs && theirs.kind !== 'current'
                ? trans.__(
                    "%1: %2, the profile's",
                    theirs.kind,
                    theirs.path ?? ''
                  )
                : trans.__("this notebook's Python")}
            </option>
            {theirs && theirs.kind !== 'current' && (
              <option value="current">
                {trans.__("this notebook's Python")}
              </option>
            )}
            <option value="other">{trans.__('another …')}</option>
          </select>
          {other && (
            <input
              className="jp-mod-styled"
              aria-label={trans.__('Kind and path of the environment')}
              placeholder="conda:/opt/envs/torch"
              value={form.environment}
              aria-invalid={!!problem}
              onChange={event => change({ environment: event.target.value })}
            />
          )}
        </>
      )}
    </Row>
  );
}

/** What travels with the notebook. */
export function Files(props: {
  form: IForm;
  change: (part: Partial<IForm>) => void;
  plan: JobPlan | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { form, change, plan, trans } = props;
  const packed = (plan?.files ?? []).filter(f => f.path.startsWith('code/'));
  const bytes = packed.reduce((n, f) => n + f.bytes, 0);
  return (
    <Row
      label={trans.__('Files')}
      help={
        packed.length
          ? trans.__(
              '%1 files, %2 KiB are copied; .dtrainignore leaves files out.',
              packed.length,
              Math.ceil(bytes / 1024)
            )
          : ''
      }
      trans={trans}
    >
      {id => (
        <label>
          <input
            id={id}
            type="checkbox"
            checked={form.files}
            onChange={event => change({ files: event.target.checked })}
          />{' '}
          {trans.__("Small files of the notebook's folder")}
        </label>
      )}
    </Row>
  );
}

/** What is copied to each node's own disk. */
export function Data(props: {
  form: IForm;
  change: (part: Partial<IForm>) => void;
  problem?: IProblem;
  trans: TranslationBundle;
}): JSX.Element {
  const { form, change, problem, trans } = props;
  return (
    <Row
      label={trans.__('Data to copy to nodes')}
      problem={problem}
      help={trans.__(
        'Files and folders, one a line, for each node\'s own disk; read them with dt.staged("/data/…").'
      )}
      trans={trans}
    >
      {id => (
        <textarea
          id={id}
          data-field="stage"
          className="jp-mod-styled"
          rows={2}
          spellCheck={false}
          aria-invalid={!!problem}
          value={form.stage}
          onChange={event => change({ stage: event.target.value })}
        />
      )}
    </Row>
  );
}
