import { TranslationBundle } from '@jupyterlab/translation';
import React, { useState } from 'react';

import { RequestError } from '../request/rest';
import { Finding, JobPlan, Profile } from '../tokens';
import { Data, Environment, Files } from './content';
import { Parameters } from './parameters';
import { emptyForm, FIELDS, FormError, IForm } from './request';
import { IProblem, Row, Stepper } from './row';

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
type TextField = Exclude<keyof IForm, 'launcher' | 'files' | 'stage'>;

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
      <Data
        form={form}
        change={change}
        problem={problems.stage}
        trans={trans}
      />
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
