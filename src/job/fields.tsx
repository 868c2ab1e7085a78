import { TranslationBundle } from '@jupyterlab/translation';
import React, { useId, useState } from 'react';

import { RequestError } from '../request/rest';
import { Finding, JobPlan, Profile } from '../tokens';
import {
  emptyForm,
  FIELDS,
  FormError,
  IForm,
  IParameter,
  linesOf,
  withValue
} from './request';

/** What is wrong with a field, and what would mend it. */
export interface IProblem {
  text: string;
  value?: string;
}

/** Problems by field: of the form itself, of the server's refusal, of its check. */
export function problemsOf(
  error: RequestError | FormError | null,
  findings: readonly Finding[],
  trans: TranslationBundle
): Partial<Record<keyof IForm, IProblem>> {
  if (error instanceof FormError) {
    const text =
      error.field === 'parameters'
        ? trans.__('Write each as name = value.')
        : trans.__('Give a whole number.');
    return { [error.field]: { text } };
  }
  const found: Partial<Record<keyof IForm, IProblem>> = {};
  for (const { severity, field, message, value } of findings) {
    const key = field && severity === 'problem' ? FIELDS[field] : undefined;
    if (key) {
      found[key] = { text: message, value: value ?? undefined };
    }
  }
  const named = error?.body.details.field;
  const key = typeof named === 'string' ? FIELDS[named] : undefined;
  if (error && key) {
    found[key] = { text: error.body.message };
  }
  return found;
}

/** Fields that are a line of text. */
type TextField = Exclude<keyof IForm, 'launcher' | 'files'>;

interface IFieldsProps {
  form: IForm;
  change: (part: Partial<IForm>) => void;
  problems: Partial<Record<keyof IForm, IProblem>>;
  profiles: readonly Profile[];
  /** The last that the server made, or null. */
  plan: JobPlan | null;
  trans: TranslationBundle;
}

/** All fields of the form. */
export function Fields(props: IFieldsProps): JSX.Element {
  const { form, change, problems, profiles, plan, trans } = props;
  const [more, setMore] = useState(!!(form.network || form.options));
  const profile = profiles.find(p => p.name === form.profile);
  const slurm = profile?.backend === 'slurm';
  const input = (
    name: TextField,
    given: Partial<React.InputHTMLAttributes<HTMLInputElement>> = {}
  ): JSX.Element => (
    <input
      data-field={name}
      className="jp-mod-styled"
      value={form[name]}
      aria-invalid={!!problems[name]}
      onChange={event => change({ [name]: event.target.value })}
      {...given}
    />
  );
  const row = (
    name: TextField,
    label: string,
    given: Partial<React.InputHTMLAttributes<HTMLInputElement>> = {}
  ): JSX.Element => (
    <Row
      key={name}
      label={label}
      problem={problems[name]}
      mend={value => change({ [name]: value })}
      trans={trans}
    >
      {id => input(name, { id, ...given })}
    </Row>
  );
  const select = (
    name: 'profile' | 'partition' | 'launcher',
    label: string,
    options: JSX.Element,
    changed?: (value: string) => void
  ): JSX.Element => (
    <Row label={label} problem={problems[name]} trans={trans}>
      {id => (
        <select
          id={id}
          data-field={name}
          className="jp-mod-styled"
          value={form[name]}
          aria-invalid={!!problems[name]}
          onChange={event =>
            changed
              ? changed(event.target.value)
              : change({ [name]: event.target.value })
          }
        >
          {options}
        </select>
      )}
    </Row>
  );
  const size = plan?.size;
  return (
    <>
      <h2>{trans.__('Where')}</h2>
      {select(
        'profile',
        trans.__('Profile'),
        <>
          {profiles.map(p => (
            <option key={p.name} value={p.name} disabled={!!p.error}>
              {p.name} {p.backend ? `(${p.backend})` : ''}
            </option>
          ))}
        </>,
        value => {
          const next = profiles.find(p => p.name === value);
          const usual = emptyForm(next, form.parameters);
          change({
            profile: value,
            partition: '',
            nodes: usual.nodes,
            ranksPerNode: usual.ranksPerNode,
            time: usual.time,
            launcher: '',
            environment: '',
            network: '',
            options: ''
          });
        }
      )}
      {slurm &&
        select(
          'partition',
          trans.__('Partition'),
          <Partitions plan={plan} form={form} trans={trans} />
        )}
      <Row
        label={trans.__('Nodes × ranks')}
        problem={problems.nodes ?? problems.ranksPerNode}
        group
        trans={trans}
      >
        {() => (
          <div className="jp-Dtrain-sizes">
            <Stepper
              label={trans.__('Nodes')}
              value={form.nodes}
              change={nodes => change({ nodes })}
              trans={trans}
            >
              {given => input('nodes', given)}
            </Stepper>
            <span aria-hidden="true">×</span>
            <Stepper
              label={trans.__('Ranks on each')}
              value={
                form.ranksPerNode || (size ? String(size.ranks_per_node) : '')
              }
              change={ranksPerNode => change({ ranksPerNode })}
              trans={trans}
            >
              {given =>
                input('ranksPerNode', {
                  ...given,
                  placeholder: size ? String(size.ranks_per_node) : ''
                })
              }
            </Stepper>
            {size && (
              <b>
                {trans._n(
                  '= %1 rank',
                  '= %1 ranks',
                  size.nodes * size.ranks_per_node
                )}
              </b>
            )}
          </div>
        )}
      </Row>
      {slurm &&
        row('time', trans.__('Time limit'), { placeholder: '02:00:00' })}
      {slurm &&
        select(
          'launcher',
          trans.__('Launcher'),
          <>
            <option value="">{trans.__('as the profile says')}</option>
            <option value="srun">srun</option>
            <option value="torchrun">torchrun</option>
          </>
        )}
      <h2>{trans.__('What')}</h2>
      {row('name', trans.__('Name'), {
        placeholder: trans.__("the notebook's")
      })}
      <Parameters
        text={form.parameters}
        change={parameters => change({ parameters })}
        problem={problems.parameters}
        trans={trans}
      />
      <Environment
        form={form}
        change={change}
        problem={problems.environment}
        profile={profile}
        trans={trans}
      />
      <Files form={form} change={change} plan={plan} trans={trans} />
      <h2>{trans.__('If it stops')}</h2>
      {row('retries', trans.__('On failure, again'), {
        inputMode: 'numeric'
      })}
      {slurm &&
        row('warn', trans.__('Warn ranks before time-out, s'), {
          inputMode: 'numeric'
        })}
      {slurm && row('mail', trans.__('Mail'), { type: 'email' })}
      {row('notify', trans.__('Command at its end'), {
        placeholder: trans.__('runs where the job ran')
      })}
      {row('after', trans.__('After job'), {
        placeholder: trans.__('id or name')
      })}
      <details
        open={more || !!(problems.network ?? problems.options)}
        onToggle={event => setMore(event.currentTarget.open)}
      >
        <summary>
          {slurm
            ? trans.__('More options: network, scheduler lines')
            : trans.__('More options: network')}
        </summary>
        {row('network', trans.__('Network interface'), {
          placeholder: trans.__('the fastest that all nodes share')
        })}
        {slurm && (
          <Row
            label={trans.__('Scheduler lines')}
            problem={problems.options}
            help={trans.__('Options of sbatch, one a line: --reservation=…')}
            trans={trans}
          >
            {id => (
              <textarea
                id={id}
                data-field="options"
                className="jp-mod-styled"
                rows={2}
                spellCheck={false}
                value={form.options}
                onChange={event => change({ options: event.target.value })}
              />
            )}
          </Row>
        )}
      </details>
    </>
  );
}

function Partitions(props: {
  plan: JobPlan | null;
  form: IForm;
  trans: TranslationBundle;
}): JSX.Element {
  const { plan, form, trans } = props;
  const known = plan?.partitions ?? [];
  const missing = form.partition && !known.some(p => p.name === form.partition);
  return (
    <>
      <option value="">{trans.__('as the profile says')}</option>
      {missing && <option value={form.partition}>{form.partition}</option>}
      {known.map(p => (
        <option key={p.name} value={p.name}>
          {[
            p.name,
            trans._n('%1 node up', '%1 nodes up', p.nodes),
            p.gpus ? trans._n('%1 GPU each', '%1 GPUs each', p.gpus) : '',
            p.time ? trans.__('up to %1', p.time) : ''
          ]
            .filter(part => part)
            .join(' · ')}
        </option>
      ))}
    </>
  );
}

/** A number between a button that lowers it and one that raises it. */
function Stepper(props: {
  label: string;
  value: string;
  change: (value: string) => void;
  trans: TranslationBundle;
  children: (
    given: Partial<React.InputHTMLAttributes<HTMLInputElement>>
  ) => JSX.Element;
}): JSX.Element {
  const { label, value, change, trans } = props;
  const by = (step: number): void =>
    change(String(Math.max(1, (Number(value) || 0) + step)));
  return (
    <span className="jp-Dtrain-stepper">
      <button
        type="button"
        aria-label={trans.__('%1: one fewer', label)}
        disabled={Number(value) <= 1}
        onClick={() => by(-1)}
      >
        −
      </button>
      {props.children({ 'aria-label': label, inputMode: 'numeric' })}
      <button
        type="button"
        aria-label={trans.__('%1: one more', label)}
        onClick={() => by(1)}
      >
        +
      </button>
    </span>
  );
}

/** A field for each parameter of the tagged cell, or all as text. */
function Parameters(props: {
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

/** Where Python comes from: as the profile says, as here, or another. */
function Environment(props: {
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

function Files(props: {
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

function Row(props: {
  label: string;
  problem?: IProblem;
  /** Takes the value that would mend it. */
  mend?: (value: string) => void;
  help?: React.ReactNode;
  /** Several controls, each with a name of its own. */
  group?: boolean;
  trans: TranslationBundle;
  children: (id: string) => React.ReactNode;
}): JSX.Element {
  const { problem, mend, trans } = props;
  const id = useId();
  return (
    <div
      className="jp-Dtrain-field"
      role={props.group ? 'group' : undefined}
      aria-labelledby={props.group ? `${id}-label` : undefined}
    >
      {props.group ? (
        <span id={`${id}-label`}>{props.label}</span>
      ) : (
        <label htmlFor={id}>{props.label}</label>
      )}
      <div>
        {props.children(id)}
        {problem && (
          <p className="jp-Dtrain-fieldError">
            {problem.text}{' '}
            {problem.value && mend && (
              <button
                type="button"
                className="jp-Dtrain-link"
                onClick={() => mend(problem.value ?? '')}
              >
                {trans.__('Set %1', problem.value)}
              </button>
            )}
          </p>
        )}
        {props.help && <p className="jp-Dtrain-under">{props.help}</p>}
      </div>
    </div>
  );
}
