import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { RequestError } from '../../request/rest';
import { Finding, JobPlan, Profile } from '../../tokens';
import { Environment, Files, Framework } from './environment';
import { IPart, LineRow, Problems, TextRow } from './controls';
import { IFault } from './fieldErrors';
import { Parameters } from './parameters';
import { IProblem } from './fieldRow';
import { FIELDS } from '../model/formRequest';
import { Where } from './whereFields';

/** Problems by field: from the form itself, from the server's refusal, and from its check. */
export function problemsOf(
  faults: readonly IFault[],
  error: RequestError | null,
  findings: readonly Finding[],
  trans: TranslationBundle
): Problems {
  const problems: Problems = {};
  for (const finding of findings) {
    const { severity, code, field, value, parameter } = finding;
    const key = field && severity === 'problem' ? FIELDS[field] : undefined;
    if (key) {
      problems[key] = {
        ...together(problems[key], adviceOn(finding), parameter),
        title:
          code === 'too_long' ? trans.__('This would never start.') : undefined,
        value: value ?? undefined
      };
    }
  }
  const named = error?.body.details.field;
  const key = typeof named === 'string' ? FIELDS[named] : undefined;
  if (error && key) {
    problems[key] = { text: error.message };
  }
  const own: Problems = {};
  for (const { field, text, parameter } of faults) {
    own[field] = together(own[field], text, parameter);
  }
  // the check knows of other parameters than the form itself: all are marked
  const mine = own.parameters?.parameters;
  for (const finding of mine ? findings : []) {
    const { severity, field, parameter } = finding;
    if (
      field === 'parameters' &&
      severity === 'problem' &&
      parameter &&
      !mine?.includes(parameter)
    ) {
      own.parameters = together(own.parameters, adviceOn(finding), parameter);
    }
  }
  return { ...problems, ...own };
}

/** What is wrong, and how to fix it, unless a button does that. */
function adviceOn({ message, fix, value }: Finding): string {
  return value ? message : `${message} ${fix}`.trim();
}

/** All problems of a field with many parameters are shown. */
function together(
  before: IProblem | undefined,
  text: string,
  parameter: string | null | undefined
): IProblem {
  if (!parameter) {
    return { text };
  }
  return {
    text: before ? `${before.text}\n${text}` : text,
    parameters: [...(before?.parameters ?? []), parameter]
  };
}

/** All fields of the form. */
export function Fields(
  props: IPart & {
    profiles: readonly Profile[];
    /** The server's latest plan, or null. */
    plan: JobPlan | null;
    /** Whether a cell of the notebook is tagged "parameters". */
    tagged: boolean;
  }
): JSX.Element {
  const { form, change, problems, profiles, plan, trans } = props;
  const [more, setMore] = useState(!!(form.network || form.options));
  const profile = profiles.find(p => p.name === form.profile);
  const slurm = !!profile?.traits?.schedules;
  const numeric = { inputMode: 'numeric' } as const;
  return (
    <>
      <Where {...props} slurm={slurm} />
      <h2>{trans.__('What')}</h2>
      <LineRow
        {...props}
        name="name"
        given={{ placeholder: trans.__("the notebook's name") }}
      />
      <Parameters
        text={form.parameters}
        change={parameters => change({ parameters })}
        problem={problems.parameters}
        tagged={props.tagged}
        trans={trans}
      />
      <Environment
        form={form}
        change={change}
        problem={problems.environment}
        profile={profile}
        trans={trans}
      />
      <Framework {...props} profile={profile} />
      <Files form={form} change={change} plan={plan} trans={trans} />
      <TextRow
        {...props}
        name="stage"
        help={trans.__(
          'Files and folders to copy to each node\'s own disk, one per line. Read them with dt.staged("/data/…").'
        )}
      />
      <h2>{trans.__('If it stops')}</h2>
      <LineRow
        {...props}
        name="retries"
        given={numeric}
        help={trans.__(
          'How many times a failed job is started again: from its last checkpoint if the notebook loads dt.latest_checkpoint(), else from the beginning.'
        )}
      />
      {slurm && <LineRow {...props} name="warn" given={numeric} />}
      {slurm && <LineRow {...props} name="mail" given={{ type: 'email' }} />}
      <LineRow
        {...props}
        name="notify"
        given={{ placeholder: trans.__('runs where the job ran') }}
      />
      <details
        open={more || !!(problems.network ?? problems.options)}
        onToggle={event => setMore(event.currentTarget.open)}
      >
        <summary>
          {slurm
            ? trans.__('More options: network, scheduler lines')
            : trans.__('More options: network')}
        </summary>
        <LineRow
          {...props}
          name="network"
          given={{ placeholder: trans.__('the fastest that all nodes share') }}
        />
        {slurm && (
          <TextRow
            {...props}
            name="options"
            help={trans.__('Options of sbatch, one per line: --reservation=…')}
          />
        )}
      </details>
    </>
  );
}
