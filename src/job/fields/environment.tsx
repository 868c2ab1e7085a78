import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { JobPlan, Profile } from '../../tokens';
import { ChoiceRow, IPart } from './controls';
import { labelOf } from './labels';
import { formatSize } from '../../metrics/format';
import { IForm } from '../model/formRequest';
import { ownFile } from '../model/ownFiles';
import { IProblem, Row } from './fieldRow';

/** Choice of the environment: the profile's, the notebook's, or another. */
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
    <Row label={labelOf('environment', trans)} problem={problem} trans={trans}>
      {aria => (
        <>
          <select
            {...aria}
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
            <option value="other">{trans.__('another…')}</option>
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

/** The framework; shown if it is not only PyTorch. */
export function Framework(
  props: IPart & { profile: Profile | undefined }
): JSX.Element | null {
  const { form, problems, profile, trans } = props;
  const theirs = profile?.profile?.framework;
  if (!theirs && !form.framework && !problems.framework) {
    return null;
  }
  return (
    <ChoiceRow {...props} name="framework">
      <option value="">
        {theirs ? trans.__('as the profile says') : 'PyTorch'}
      </option>
      {theirs && <option value="torch">PyTorch</option>}
      <option value="tensorflow">TensorFlow</option>
      <option value="mindspore">MindSpore</option>
    </ChoiceRow>
  );
}

/** Files that are copied with the notebook. */
export function Files(props: {
  form: IForm;
  change: (part: Partial<IForm>) => void;
  plan: JobPlan | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { form, change, plan, trans } = props;
  const files = (plan?.files ?? []).filter(f => !ownFile(f.path, trans));
  const bytes = files.reduce((n, f) => n + f.bytes, 0);
  return (
    <Row
      label={labelOf('files', trans)}
      help={
        files.length
          ? trans._n(
              '%1 file beside the notebook (%2) is copied with it. Other notebooks are not; .dtrainignore excludes more files.',
              '%1 files beside the notebook (%2) are copied with it. Other notebooks are not; .dtrainignore excludes more files.',
              files.length,
              formatSize(bytes)
            )
          : !plan
            ? ''
            : form.files
              ? trans.__(
                  'Only the notebook is copied: its folder has no other file to copy. Other notebooks, checkpoints, hidden files and files of more than 1 MiB are never copied.'
                )
              : trans.__(
                  'Only the notebook is copied, without the files beside it: tick this box to copy those of at most 1 MiB.'
                )
      }
      trans={trans}
    >
      {aria => (
        <label>
          <input
            {...aria}
            type="checkbox"
            checked={form.files}
            onChange={event => change({ files: event.target.checked })}
          />{' '}
          {trans.__("Small files in the notebook's folder")}
        </label>
      )}
    </Row>
  );
}
