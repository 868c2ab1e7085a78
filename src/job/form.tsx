import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useRef, useState } from 'react';

import { guarded } from '../cluster/actions';
import { questionsOf, signIn } from '../cluster/signin';
import { CommandIDs } from '../commands';
import { RequestError } from '../request/rest';
import { Finding, IClusters, JobPlan } from '../tokens';
import { Fields, problemsOf } from './fields';
import { Jobs } from './model';
import { Highlight, Preview } from './preview';
import { Report } from './report';
import { budgetWords, roomWords } from './words';
import {
  emptyForm,
  FIELDS,
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

/** Forms that were kept for later, by notebook. */
export interface IDrafts {
  load(path: string): Promise<IForm | null>;
  save(path: string, form: IForm): Promise<void>;
  remove(path: string): Promise<void>;
}

export interface IFormProps {
  notebook: INotebook;
  drafts: IDrafts;
  highlight: Highlight;
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
  at?: Date;
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
  const [kept, setKept] = useState(false);
  const lastPlan = useRef<JobPlan | null>(null);
  const [round, setRound] = useState(0);
  const left = useRef<HTMLFormElement>(null);
  const latest = useRef(0);
  const asked = useRef(0);
  const profiles = model.profiles;

  useEffect(() => {
    let gone = false;
    const fill = async (): Promise<void> => {
      const draft = props.like ? null : await props.drafts.load(notebook.path);
      if (draft) {
        if (!gone) {
          setForm({ ...emptyForm(undefined, ''), ...draft });
          setFrom(trans.__('Filled in as you saved it for later.'));
        }
        return;
      }
      const last =
        props.like ??
        (await jobs.all()).find(j => j.notebook === notebook.path)?.id;
      if (last) {
        const request = await jobs.requestOf(last);
        if (!gone) {
          setForm(formOf(request, notebook.parameters));
          setFrom(trans.__('Filled in from job %1.', last));
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
  lastPlan.current = plan ?? lastPlan.current;
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
      await props.drafts.remove(notebook.path);
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
        ref={left}
        className="jp-Dtrain-submitForm"
        onSubmit={event => {
          event.preventDefault();
          void send();
        }}
      >
        <h1>{trans.__('Submit %1', notebook.path.split('/').pop())}</h1>
        <p className="jp-Dtrain-under">
          {from ||
            trans.__('It runs without this browser, and without the server.')}
        </p>
        <Fields
          form={form}
          change={part => {
            setForm({ ...form, ...part });
            setKept(false);
          }}
          problems={problemsOf(error, plan?.findings ?? [], trans)}
          profiles={profiles}
          plan={lastPlan.current}
          trans={trans}
        />
      </form>
      <div className="jp-Dtrain-submitReport">
        <Report
          plan={plan}
          error={error}
          busy={busy}
          at={checked.at}
          trans={trans}
          open={(finding: Finding) => {
            const field = FIELDS[finding.field ?? ''];
            if (field) {
              left.current
                ?.querySelector<HTMLElement>(`[data-field='${field}']`)
                ?.focus();
            } else {
              notebook.open(
                finding.cell ?? undefined,
                finding.line ?? undefined
              );
            }
          }}
          again={() => setRound(round + 1)}
          signIn={() => {
            const asked = questionsOf(error);
            if (asked) {
              void guarded(trans, async () => {
                await signIn(asked, trans);
                setRound(round + 1);
              });
            }
          }}
        />
        {plan && (
          <Preview plan={plan} highlight={props.highlight} trans={trans} />
        )}
      </div>
      <div className="jp-Dtrain-submitBar">
        <p>
          <b>
            {plan?.size
              ? trans._n(
                  '%1 node × %2 = %3 ranks%4',
                  '%1 nodes × %2 = %3 ranks%4',
                  plan.size.nodes,
                  plan.size.ranks_per_node,
                  ranks,
                  form.time ? trans.__(', at most %1', form.time) : ''
                )
              : ''}
          </b>
          {plan?.budget ? (
            <span className="jp-Dtrain-under" title={plan.budget.holder}>
              {' · '}
              {budgetWords(plan.budget, trans)}
            </span>
          ) : plan?.gpu_hours ? (
            <span className="jp-Dtrain-under">
              {' · '}
              {trans.__('At most %1 GPU-hours', plan.gpu_hours.toFixed(0))}
            </span>
          ) : null}
          {plan?.room && (
            <span className="jp-Dtrain-under" title={plan.room.folder}>
              {' · '}
              {roomWords(plan.room, trans)}
            </span>
          )}
          {plan?.expected_start_at ? (
            <span className="jp-Dtrain-under">
              {' · '}
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
          className="jp-Dtrain-button"
          onClick={() =>
            void props.drafts
              .save(notebook.path, form)
              .then(() => setKept(true))
          }
        >
          {kept ? trans.__('Saved') : trans.__('Save for later')}
        </button>
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
    return { plan, error: null, busy: false, at: new Date() };
  } catch (error) {
    if (error instanceof RequestError || error instanceof FormError) {
      return { plan: null, error, busy: false };
    }
    throw error;
  }
}
