import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useMemo, useRef, useState } from 'react';

import { CommandIDs } from '../../commands';
import { linesOf } from '../../job/model/assignments';
import { useCheck, useSending } from '../../job/form/checkForm';
import { useOneColumn } from '../../job/form/columns';
import { LineRow } from '../../job/fields/controls';
import { IDrafts, ITyped } from '../../job/form/drafts';
import { faultSentence, faultsOf } from '../../job/fields/fieldErrors';
import { problemsOf } from '../../job/fields/fields';
import { useForm } from '../../job/form/initialForm';
import { FormFrame, Reading } from '../../job/form/formFrame';
import { JobRequests } from '../../job/model/requests';
import { labelOf } from '../../job/fields/labels';
import { INotebook } from '../../job/form/notebook';
import { alsoOf, refusalOf } from '../../job/model/refusal';
import { CheckFindings, FINDING_LINKS } from '../../job/form/findings';
import { FIELDS, IForm } from '../../job/model/formRequest';
import { Where } from '../../job/fields/whereFields';
import { Finding, ISite, ISweeps } from '../../tokens';
import { SweepBar } from './sweepBar';
import { Search } from './search';
import {
  refusedIn,
  useSweepPlan,
  whyNot,
  withoutOwn,
  wordsOfSweep
} from './checkSweep';
import {
  emptySweep,
  ISweepFault,
  ISweepForm,
  isUnfilled,
  knownOf,
  sweepFaults,
  UNSIZED,
  wantedSweep
} from '../model/formRequest';
import { objectivesIn } from '../model/objectives';
import { Vary } from './searchSpaceFields';
import { faultText, fieldText } from '../model/texts';

export interface ISweepFormProps {
  notebook: INotebook;
  drafts: IDrafts;
  typed: ITyped;
  site: ISite;
  jobs: JobRequests;
  sweeps: ISweeps;
  commands: CommandRegistry;
  trans: TranslationBundle;
  begun(): void;
}

/** Search space and objective as typed before the page was reloaded, and the function to change them. */
function useTypedSweep(
  typed: ITyped,
  notebook: INotebook
): [ISweepForm, (some: Partial<ISweepForm>) => void] {
  const [sweep, setSweep] = useState<ISweepForm>(() =>
    emptySweep(objectivesIn(notebook.sources))
  );
  useEffect(() => {
    void typed
      .load<ISweepForm>('sweep')
      .then(kept => kept && setSweep(now => ({ ...now, ...kept })));
  }, [typed]);
  return [
    sweep,
    some =>
      setSweep(before => {
        const after = { ...before, ...some };
        typed.save('sweep', after);
        return after;
      })
  ];
}

/** The form of a sweep: where its trials run, search space, objective, and the check of a trial. */
export function SweepForm(props: ISweepFormProps): JSX.Element {
  const { site, sweeps, trans, notebook } = props;
  const { profiles } = site;
  const [filled, fill] = useForm({
    ...props,
    like: null,
    // trials start from the notebook's values, not from those of its last job
    begins: { ...UNSIZED, parameters: notebook.parameters },
    profiles
  });
  const change = (part: Partial<IForm>): void =>
    fill('profile' in part ? { ...part, ...sizeOf(filled?.form) } : part);
  const [typed, setSweep] = useTypedSweep(props.typed, notebook);
  const form = filled?.form ?? null;
  const defaults = filled?.defaults ?? '';
  const sweep = useMemo(() => knownOf(typed, defaults), [typed, defaults]);
  const faults = useMemo(
    () => (form ? faultsOf(form, defaults, trans) : []),
    [form, defaults, trans]
  );
  const { checked, again, refuse } = useCheck({
    ...props,
    filled,
    faults,
    ask: useSweepPlan(sweeps, sweep, notebook)
  });
  const send = useRef<(sends: () => void) => Promise<void>>();
  const entered = useMemo(() => ({ form, sweep }), [form, sweep]);
  const [sending, begin] = useSending(entered, checked.busy, async sends =>
    send.current?.(sends)
  );
  const [tried, setTried] = useState(false);
  const [whole, setWhole] = useState<HTMLDivElement | null>(null);
  const oneColumn = useOneColumn(whole);

  if (!filled || !form) {
    return <Reading trans={trans} />;
  }
  const { plan, error, busy } = checked;
  const parameters = linesOf(defaults);
  const own = sweepFaults(sweep, parameters.length);
  const found = withoutOwn(error ? alsoOf(error) : (plan?.findings ?? []), own);
  const problems = [
    ...own.map(fault => faultText(fault, trans)),
    ...faults.map(fault => faultSentence(fault, trans)),
    ...(error ? [error.message] : []),
    ...found.filter(f => f.severity === 'problem').map(f => f.message)
  ];
  const why = whyNot(problems, trans) || (busy ? trans.__('Checking…') : '');
  const lacking = own.filter(fault => isUnfilled(fault, sweep));
  const focus = (selector: string): void =>
    whole?.querySelector<HTMLElement>(selector)?.focus();
  send.current = async sends => {
    setTried(true);
    if (why) {
      // the button responds: it focuses what keeps it disabled
      focus(
        (own.length && placeOf(own[0])) ||
          `[aria-invalid="true"], ${FINDING_LINKS}`
      );
      return;
    }
    sends();
    try {
      await notebook.save();
      const begun = await sweeps.begin(
        wantedSweep(sweep, form, notebook.path, notebook.parameters)
      );
      void props.commands.execute(CommandIDs.openSweep, {
        id: begun.id,
        name: begun.name
      });
      props.begun();
    } catch (failure) {
      refuse(refusalOf(failure, trans));
    }
  };
  const part = {
    form,
    change,
    faults,
    problems: problemsOf(faults, error, found, trans),
    profiles,
    plan,
    trans
  };
  const slurm = !!profiles.find(p => p.name === form.profile)?.traits
    ?.schedules;
  const given = error?.body.details;
  const both = {
    form: sweep,
    change: setSweep,
    // missing fields are reported only on submission
    faults: tried ? own : own.filter(fault => !lacking.includes(fault)),
    refused:
      error && typeof given?.field === 'string'
        ? [
            {
              field: given.field,
              parameter: given.parameter,
              text: error.message
            },
            ...refusedIn(found)
          ]
        : refusedIn(found),
    trans
  };
  const report = (
    <CheckFindings
      plan={plan ? { ...plan, findings: found } : null}
      own={own
        .filter(fault => !lacking.includes(fault))
        .map(fault => ({
          text: faultText(fault, trans),
          label:
            fault.parameter === undefined
              ? fieldText(fault.field, trans)
              : labelOf('parameters', trans),
          open: () => focus(placeOf(fault))
        }))}
      lacks={lacking.length ? faultText(lacking[0], trans) : ''}
      words={wordsOfSweep(trans)}
      faults={faults}
      error={error}
      busy={busy}
      at={checked.at}
      trans={trans}
      open={(finding: Finding) => {
        const field = FIELDS[finding.field ?? ''];
        if (finding.parameter) {
          focus(`[data-sweep='${finding.parameter}']`);
        } else if (field) {
          focus(`[data-field='${field}']`);
        } else {
          notebook.open(finding.cell ?? undefined, finding.line ?? undefined);
        }
      }}
      openFault={({ field }) => focus(`[data-field='${field}']`)}
      again={again}
      preview={null}
    />
  );
  return (
    <FormFrame
      title={trans.__('Sweep %1', notebook.path.split('/').pop())}
      under={trans.__(
        'Runs this notebook as many jobs, its trials, each with its own parameters. They need neither this browser nor the Jupyter server.'
      )}
      oneColumn={oneColumn}
      report={report}
      whole={setWhole}
      send={begin}
      bar={
        <SweepBar
          sweep={sweep}
          plan={plan}
          why={why}
          sending={sending}
          trans={trans}
          send={begin}
        />
      }
    >
      <Vary
        {...both}
        parameters={parameters}
        text={form.parameters}
        setText={text => change({ parameters: text })}
        fixedFaults={faults}
      />
      <Search {...both} objectives={objectivesIn(notebook.sources)} />
      <Where {...part} slurm={slurm} />
      <LineRow
        {...part}
        name="name"
        given={{ placeholder: trans.__("the notebook's name") }}
      />
    </FormFrame>
  );
}

/** The typed size: another profile's default is for jobs, and trials have their own. */
function sizeOf(form: IForm | undefined): Partial<IForm> {
  return form
    ? { nodes: form.nodes, ranksPerNode: form.ranksPerNode }
    : UNSIZED;
}

/** The field of the form at which an error can be fixed. */
function placeOf(fault: ISweepFault): string {
  return `[data-sweep='${fault.parameter ?? fault.field}']`;
}
