import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useId, useRef, useState } from 'react';

import { CommandIDs } from '../commands';
import { RequestError } from '../request/rest';
import { Finding, IClusters, JobPlan } from '../tokens';
import { Jobs } from './model';
import { Preview } from './preview';
import { Report } from './report';
import {
  emptyForm,
  FormError,
  formOf,
  IForm,
  Wanted,
  wantedOf
} from './request';

/** After an edit the plan is asked for so much later, ms. */
const CHECK_AFTER = 400;
/** A job of more ranks is asked about once. */
const LARGE = 64;

/** The notebook that is submitted. */
export interface INotebook {
  path: string;
  /** Assignments of its tagged cell. */
  parameters: string;
  /** Save it, if it has changed. */
  save(): Promise<void>;
  /** Names that its kernel has in memory; null where there is none, or it is busy. */
  names(): Promise<string[] | null>;
  open(cell?: string, line?: number): void;
}

export interface IFormProps {
  notebook: INotebook;
  /** A job whose request fills the form. */
  like: string | null;
  model: IClusters;
  jobs: Jobs;
  commands: CommandRegistry;
  trans: TranslationBundle;
  confirmLarge(ranks: number): Promise<boolean>;
  submitted(): void;
}

interface IChecked {
  plan: JobPlan | null;
  error: RequestError | FormError | null;
  busy: boolean;
}

/** The form, the check report, and what will run. */
export function SubmitForm(props: IFormProps): JSX.Element {
  const { model, jobs, trans, notebook } = props;
  const [form, setForm] = useState<IForm | null>(null);
  const [from, setFrom] = useState('');
  const [checked, setChecked] = useState<IChecked>({
    plan: null,
    error: null,
    busy: true
  });
  const [sending, setSending] = useState(false);
  const [round, setRound] = useState(0);
  const latest = useRef(0);
  const asked = useRef(0);
  const profiles = model.profiles;

  useEffect(() => {
    let gone = false;
    const fill = async (): Promise<void> => {
      const last =
        props.like ??
        (await jobs.all()).find(j => j.notebook === notebook.path)?.id;
      if (last) {
        const request = await jobs.requestOf(last);
        if (!gone) {
          setForm(formOf(request, notebook.parameters));
          setFrom(last);
        }
      } else if (!gone) {
        const usual = profiles.find(p => p.name === 'local') ?? profiles[0];
        setForm(emptyForm(usual, notebook.parameters));
      }
    };
    fill().catch(error => {
      if (!gone && error instanceof RequestError) {
        setForm(emptyForm(undefined, notebook.parameters));
      }
    });
    return () => {
      gone = true;
    };
  }, [notebook.path, props.like]);

  useEffect(() => {
    if (!form) {
      return;
    }
    const mine = ++latest.current;
    setChecked(before => ({ ...before, busy: true }));
    const timer = window.setTimeout(() => {
      const asks = round > asked.current;
      asked.current = round;
      void check(form, props, asks).then(found => {
        if (mine === latest.current) {
          setChecked(found);
        }
      });
    }, CHECK_AFTER);
    return () => clearTimeout(timer);
  }, [form, round]);

  if (!form) {
    return (
      <p className="jp-Dtrain-note" role="status">
        {trans.__('Reading …')}
      </p>
    );
  }
  const { plan, error, busy } = checked;
  const problems = (plan?.findings ?? []).filter(
    f => f.severity === 'problem'
  ).length;
  const why = busy
    ? trans.__('Being checked …')
    : error
      ? error.message
      : problems
        ? trans._n(
            'Fix %1 problem to submit',
            'Fix %1 problems to submit',
            problems
          )
        : '';
  const ranks = plan?.size ? plan.size.nodes * plan.size.ranks_per_node : 0;
  const send = async (): Promise<void> => {
    if (
      why ||
      sending ||
      (ranks > LARGE && !(await props.confirmLarge(ranks)))
    ) {
      return;
    }
    setSending(true);
    try {
      await notebook.save();
      const job = await jobs.submit(await wantedWith(form, notebook));
      void props.commands.execute(CommandIDs.openJob, {
        id: job.id,
        name: job.name
      });
      props.submitted();
    } catch (failure) {
      if (!(failure instanceof RequestError)) {
        throw failure;
      }
      setChecked({ plan: checked.plan, error: failure, busy: false });
    } finally {
      setSending(false);
    }
  };
  return (
    <div className="jp-Dtrain-submit">
      <form
        className="jp-Dtrain-submitForm"
        onSubmit={event => {
          event.preventDefault();
          void send();
        }}
      >
        <h1>{trans.__('Submit %1', notebook.path.split('/').pop())}</h1>
        <p className="jp-Dtrain-under">
          {from
            ? trans.__('Filled in from job %1.', from)
            : trans.__('It runs without this browser, and without the server.')}
        </p>
        <Fields
          form={form}
          change={part => setForm({ ...form, ...part })}
          error={error}
          model={model}
          plan={plan}
          trans={trans}
        />
      </form>
      <div className="jp-Dtrain-submitReport">
        <Report
          plan={plan}
          error={error}
          busy={busy}
          trans={trans}
          open={(finding: Finding) =>
            notebook.open(finding.cell ?? undefined, finding.line ?? undefined)
          }
          again={() => setRound(round + 1)}
        />
        {plan && <Preview plan={plan} trans={trans} />}
      </div>
      <div className="jp-Dtrain-submitBar">
        <p>
          <b>
            {plan?.size
              ? trans.__(
                  '%1 nodes × %2 = %3 ranks%4',
                  plan.size.nodes,
                  plan.size.ranks_per_node,
                  ranks,
                  form.time ? trans.__(', at most %1', form.time) : ''
                )
              : ''}
          </b>
          {plan?.gpu_hours ? (
            <span className="jp-Dtrain-under">
              {' '}
              {trans.__('At most %1 GPU-hours', plan.gpu_hours.toFixed(0))}
            </span>
          ) : null}
          {plan?.expected_start_at ? (
            <span className="jp-Dtrain-under">
              {' '}
              {trans.__(
                'It would start at %1',
                new Date(plan.expected_start_at * 1000).toLocaleTimeString()
              )}
            </span>
          ) : null}
        </p>
        <span className="jp-Dtrain-under" role="status">
          {why}
        </span>
        <button
          type="button"
          className="jp-Dtrain-button jp-mod-primary"
          aria-disabled={!!why || sending}
          title={why}
          onClick={() => void send()}
        >
          {sending ? trans.__('Submitting …') : trans.__('Submit')}
        </button>
      </div>
    </div>
  );
}

async function wantedWith(form: IForm, notebook: INotebook): Promise<Wanted> {
  const names = await notebook.names();
  return { ...wantedOf(form, notebook.path), names };
}

async function check(
  form: IForm,
  props: IFormProps,
  ask: boolean
): Promise<IChecked> {
  try {
    const wanted = await wantedWith(form, props.notebook);
    const plan = await props.jobs.plan(wanted, ask);
    return { plan, error: null, busy: false };
  } catch (error) {
    if (error instanceof RequestError || error instanceof FormError) {
      return { plan: null, error, busy: false };
    }
    throw error;
  }
}

/** Fields that are a line of text. */
type TextField = Exclude<
  keyof IForm,
  'profile' | 'launcher' | 'parameters' | 'files'
>;

function Fields(props: {
  form: IForm;
  change: (part: Partial<IForm>) => void;
  error: RequestError | FormError | null;
  model: IClusters;
  plan: JobPlan | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { form, change, error, model, trans } = props;
  const profile = model.profiles.find(p => p.name === form.profile);
  const slurm = profile?.backend === 'slurm';
  const bad = error instanceof FormError ? error.field : null;
  const field = (
    name: TextField,
    label: string,
    more: Partial<React.InputHTMLAttributes<HTMLInputElement>> = {}
  ): JSX.Element => (
    <Row
      key={name}
      label={label}
      error={bad === name ? trans.__('Give a whole number.') : ''}
    >
      {id => (
        <input
          id={id}
          className="jp-mod-styled"
          value={form[name]}
          aria-invalid={bad === name}
          onChange={event => change({ [name]: event.target.value })}
          {...more}
        />
      )}
    </Row>
  );
  const packed = (props.plan?.files ?? []).filter(f =>
    f.path.startsWith('code/')
  );
  const bytes = packed.reduce((n, f) => n + f.bytes, 0);
  return (
    <>
      <h2>{trans.__('Where')}</h2>
      <Row label={trans.__('Profile')}>
        {id => (
          <select
            id={id}
            className="jp-mod-styled"
            value={form.profile}
            onChange={event => {
              const next = model.profiles.find(
                p => p.name === event.target.value
              );
              const usual = emptyForm(next, form.parameters);
              change({
                profile: event.target.value,
                nodes: usual.nodes,
                ranksPerNode: usual.ranksPerNode,
                time: usual.time,
                launcher: ''
              });
            }}
          >
            {model.profiles.map(p => (
              <option key={p.name} value={p.name} disabled={!!p.error}>
                {p.name} {p.backend ? `(${p.backend})` : ''}
              </option>
            ))}
          </select>
        )}
      </Row>
      {field('nodes', trans.__('Nodes'), { inputMode: 'numeric' })}
      {field('ranksPerNode', trans.__('Ranks on each'), {
        inputMode: 'numeric',
        placeholder: trans.__('as the machine has GPUs')
      })}
      {slurm &&
        field('time', trans.__('Time limit'), { placeholder: '02:00:00' })}
      {slurm && (
        <Row label={trans.__('Launcher')}>
          {id => (
            <select
              id={id}
              className="jp-mod-styled"
              value={form.launcher}
              onChange={event =>
                change({ launcher: event.target.value as IForm['launcher'] })
              }
            >
              <option value="">{trans.__('as the profile says')}</option>
              <option value="srun">srun</option>
              <option value="torchrun">torchrun</option>
            </select>
          )}
        </Row>
      )}
      <h2>{trans.__('What')}</h2>
      {field('name', trans.__('Name'), {
        placeholder: trans.__("the notebook's")
      })}
      <Row
        label={trans.__('Parameters')}
        error={
          bad === 'parameters' ? trans.__('Write each as name = value.') : ''
        }
        help={trans.__('They replace those of the cell tagged parameters.')}
      >
        {id => (
          <textarea
            id={id}
            className="jp-mod-styled"
            rows={3}
            spellCheck={false}
            value={form.parameters}
            onChange={event => change({ parameters: event.target.value })}
          />
        )}
      </Row>
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
      <h2>{trans.__('If it stops')}</h2>
      {field('retries', trans.__('On failure, again'), {
        inputMode: 'numeric'
      })}
      {slurm &&
        field('warn', trans.__('Warn ranks before time-out, s'), {
          inputMode: 'numeric'
        })}
      {slurm && field('mail', trans.__('Mail'), { type: 'email' })}
      {field('notify', trans.__('Command at its end'), {
        placeholder: trans.__('runs where the job ran')
      })}
      {field('after', trans.__('After job'), {
        placeholder: trans.__('id or name')
      })}
    </>
  );
}

function Row(props: {
  label: string;
  error?: string;
  help?: string;
  children: (id: string) => React.ReactNode;
}): JSX.Element {
  const id = useId();
  return (
    <div className="jp-Dtrain-field">
      <label htmlFor={id}>{props.label}</label>
      <div>
        {props.children(id)}
        {props.error && <p className="jp-Dtrain-fieldError">{props.error}</p>}
        {props.help && <p className="jp-Dtrain-under">{props.help}</p>}
      </div>
    </div>
  );
}
