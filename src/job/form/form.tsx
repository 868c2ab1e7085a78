import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useMemo, useRef, useState } from 'react';

import { reportErrors } from '../../cluster/dialogs/reportErrors';
import { CommandIDs } from '../../commands';
import { Finding, ISite, JobPlan } from '../../tokens';
import { SubmitBar } from './submitBar';
import { useCheck, useJobPlan, useSending, wantedWith } from './checkForm';
import { useOneColumn } from './columns';
import { IDrafts, ITyped } from './drafts';
import { faultsOf } from '../fields/fieldErrors';
import { Fields, problemsOf } from '../fields/fields';
import { useForm } from './initialForm';
import { FormFrame, Reading } from './formFrame';
import { JobRequests } from '../model/requests';
import { INotebook } from './notebook';
import { Highlight, Preview } from './preview';
import { alsoOf, refusalOf } from '../model/refusal';
import { CheckFindings, FINDING_LINKS } from './findings';
import { FIELDS, IForm } from '../model/formRequest';

/** A job with more ranks has to be confirmed. */
const LARGE = 64;

export interface IFormProps {
  notebook: INotebook;
  drafts: IDrafts;
  typed: ITyped;
  highlight: Highlight;
  /** A job whose request fills the form. */
  like: string | null;
  site: ISite;
  jobs: JobRequests;
  commands: CommandRegistry;
  trans: TranslationBundle;
  confirmLarge(ranks: number): Promise<boolean>;
  submitted(): void;
}

/** The form, the check report, and the preview. */
export function SubmitForm(props: IFormProps): JSX.Element {
  const { site, jobs, trans, notebook, like } = props;
  const { profiles } = site;
  const [filled, change, from] = useForm({ ...props, profiles });
  const form = filled?.form ?? null;
  const defaults = filled?.defaults ?? '';
  const faults = useMemo(
    () => (form ? faultsOf(form, defaults, trans) : []),
    [form, defaults, trans]
  );
  const { checked, again, refuse } = useCheck({
    ...props,
    filled,
    faults,
    ask: useJobPlan(jobs, notebook)
  });
  const send = useRef<(sends: () => void) => Promise<void>>();
  const [sending, submit] = useSending(form, checked.busy, async sends =>
    send.current?.(sends)
  );
  const [kept, setKept] = useState<IForm | null>(null);
  const lastPlan = useRef<JobPlan | null>(null);
  const [whole, setWhole] = useState<HTMLDivElement | null>(null);
  const oneColumn = useOneColumn(whole);
  const [tab, setTab] = useState('script');

  if (!filled || !form) {
    return <Reading trans={trans} />;
  }
  const { plan, error, busy } = checked;
  lastPlan.current = plan ?? lastPlan.current;
  const seen = lastPlan.current;
  const found = error ? alsoOf(error) : (plan?.findings ?? []);
  const problems =
    faults.length +
    found.filter(f => f.severity === 'problem').length +
    (error?.body.details.field ? 1 : 0);
  const why = problems
    ? trans._n(
        'Fix %1 problem to submit',
        'Fix %1 problems to submit',
        problems
      )
    : busy
      ? trans.__('Checking…')
      : (error?.message ?? '');
  const ranks = plan?.size ? plan.size.nodes * plan.size.ranks_per_node : 0;
  const focus = (...selectors: string[]): void =>
    selectors
      .map(selector => whole?.querySelector<HTMLElement>(selector))
      .find(found => found)
      ?.focus();
  send.current = async sends => {
    if (why) {
      // the button responds: it focuses what keeps it disabled
      focus('[aria-invalid="true"]', FINDING_LINKS);
      return;
    }
    try {
      if (ranks > LARGE && !(await props.confirmLarge(ranks))) {
        return;
      }
      sends();
      // a notebook that was just saved has no plan yet
      const planned =
        (await notebook.save()) || !plan
          ? await jobs.plan(await wantedWith(filled, notebook), false)
          : plan;
      const job = await jobs.submit(notebook.path, planned.id);
      void props.commands.execute(CommandIDs.openJob, {
        id: job.id,
        name: job.name
      });
      props.submitted();
      // the job is submitted even if its draft can't be removed
      void reportErrors(trans, () => props.drafts.remove(notebook.path, like));
    } catch (failure) {
      refuse(refusalOf(failure, trans));
    }
  };
  const report = (
    <CheckFindings
      plan={plan}
      faults={faults}
      error={error}
      busy={busy}
      at={checked.at}
      trans={trans}
      open={(finding: Finding) => {
        const field = FIELDS[finding.field ?? ''];
        if (field) {
          focus(`[data-field='${field}']`);
        } else {
          notebook.open(finding.cell ?? undefined, finding.line ?? undefined);
        }
      }}
      openFault={({ field }) => focus(`[data-field='${field}']`)}
      again={again}
      preview={
        seen && oneColumn
          ? () => {
              whole
                ?.querySelector('.jp-DtrainJob-preview')
                ?.scrollIntoView({ block: 'start' });
              focus('.jp-DtrainJob-preview [role=tab][tabindex="0"]');
            }
          : null
      }
    />
  );
  const preview = seen && (
    <Preview
      chosen={tab}
      choose={setTab}
      plan={seen}
      stale={faults.length > 0 || !plan}
      highlight={props.highlight}
      trans={trans}
    />
  );
  return (
    <FormFrame
      title={trans.__('Submit %1', notebook.path.split('/').pop())}
      under={
        from ||
        trans.__(
          'The job runs without this browser, and without the Jupyter server.'
        )
      }
      oneColumn={oneColumn}
      report={report}
      preview={preview}
      whole={setWhole}
      send={submit}
      bar={
        <SubmitBar
          plan={faults.length ? null : plan}
          time={form.time}
          why={why}
          sending={sending}
          kept={kept === form}
          trans={trans}
          keep={() =>
            void reportErrors(trans, async () => {
              await props.drafts.save(notebook.path, like, form);
              setKept(form);
            })
          }
          send={submit}
        />
      }
    >
      <Fields
        form={form}
        change={change}
        problems={problemsOf(faults, error, found, trans)}
        profiles={profiles}
        plan={seen}
        trans={trans}
      />
    </FormFrame>
  );
}
