import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { LineRow } from '../../job/fields/controls';
import { IFault } from '../../job/fields/fieldErrors';
import { problemsOf } from '../../job/fields/fields';
import { Where } from '../../job/fields/whereFields';
import { IChecked } from '../../job/form/checkForm';
import { INotebook } from '../../job/form/notebook';
import { IParameter } from '../../job/model/assignments';
import { IForm } from '../../job/model/formRequest';
import { Profile, SweepPlan } from '../../tokens';
import { ISweepForm } from '../model/formRequest';
import { objectivesIn } from '../model/objectives';
import { ISweepProblems, refusedIn } from './checkSweep';
import { Search } from './search';
import { Vary } from './searchSpaceFields';

/** All fields of a sweep's form: what varies, how it is searched, where trials run, and the name. */
export function SweepFields(props: {
  notebook: INotebook;
  profiles: readonly Profile[];
  /** Parameters of the tagged cell. */
  parameters: readonly IParameter[];
  /** The fields that a job has, too. */
  form: IForm;
  change: (part: Partial<IForm>) => void;
  /** The fields that only a sweep has. */
  sweep: ISweepForm;
  changeSweep: (part: Partial<ISweepForm>) => void;
  /** Errors of the fields that a job has, too. */
  faults: readonly IFault[];
  problems: ISweepProblems;
  checked: IChecked<SweepPlan>;
  trans: TranslationBundle;
}): JSX.Element {
  const { notebook, profiles, form, change, faults, checked, trans } = props;
  const { own, lacking, found } = props.problems;
  const { plan, error } = checked;
  const profile = profiles.find(p => p.name === form.profile);
  const ofJob = {
    form,
    change,
    faults,
    problems: problemsOf(faults, error, found, trans),
    profiles,
    plan,
    trans
  };
  const ofSweep = {
    form: props.sweep,
    change: props.changeSweep,
    faults: own.filter(fault => !lacking.includes(fault)),
    refused: refusedIn(error, found),
    trans
  };
  return (
    <>
      <Vary
        {...ofSweep}
        parameters={props.parameters}
        text={form.parameters}
        setText={text => change({ parameters: text })}
        fixedFaults={faults}
      />
      <Search {...ofSweep} objectives={objectivesIn(notebook.sources)} />
      <Where {...ofJob} slurm={!!profile?.traits?.schedules} />
      <LineRow
        {...ofJob}
        name="name"
        given={{ placeholder: trans.__("the notebook's name") }}
      />
    </>
  );
}
