import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useState } from 'react';

import { CommandIDs } from '../commands';
import { moment, notebookFile, resumeWords } from '../job/model/texts';
import { usePoll } from '../ui/hooks/poll';
import { refusalOf } from '../job/model/refusal';
import {
  sweepEnded,
  sweepGlyph,
  sweepHint,
  sweepSentence,
  sweepState,
  useSeen
} from '../job/list/sweeps';
import { ISweeps, Sweep } from '../tokens';
import { Fact, FactLine } from '../ui/lists/factList';
import { formatValue } from '../metrics/format';
import { Glyph } from '../ui/icons/glyph';
import { useViewState } from '../ui/viewState';
import { ValueCurves } from './charts/valueCurves';
import { Importance } from './charts/importance';
import { Brushes } from './charts/brush';
import { Parallel } from './charts/parallel';
import { Trials } from './table';
import { isSame, withImportance } from './model/latest';
import { parametersLine, uncountedText } from './model/texts';

/** Polling interval for a running sweep, ms. */
const LOOK_MS = 1000;
/** Polling interval for an ended sweep, which may be resumed elsewhere, ms. */
const CALM_MS = 10_000;

export interface ISweepProps {
  id: string;
  sweeps: ISweeps;
  commands: CommandRegistry;
  trans: TranslationBundle;
  openNotebook: (path: string) => void;
}

/** One sweep: sentence, actions, facts, plots, trials. */
export function SweepBody(props: ISweepProps): JSX.Element {
  const { id, sweeps, trans } = props;
  const [sweep, setSweep] = useViewState<Sweep | null>('sweep', null);
  const [error, setError] = useState('');
  const [brushes, setBrushes] = useViewState<Brushes>('brushes', {});
  const [marked, setMarked] = useState<number | null>(null);
  useSeen(sweeps, seen =>
    setSweep(before => {
      const now = seen.find(s => s.id === id);
      return now ? withImportance(now, before) : before;
    })
  );
  const calm = sweep !== null && sweepEnded(sweep);
  usePoll(`sweep ${id} ${calm}`, calm ? CALM_MS : LOOK_MS, async () => {
    try {
      const now = await sweeps.get(id);
      const same = error === '' && isSame(now, sweep);
      setSweep(now);
      setError('');
      return same ? 'unchanged' : true;
    } catch (failure) {
      const refusal = refusalOf(failure, trans);
      setError(refusal.message);
      throw refusal;
    }
  });
  if (!sweep) {
    return (
      <p className="jp-DtrainUi-note" role="status">
        {error || trans.__('Reading…')}
      </p>
    );
  }
  return (
    <>
      <Head {...props} sweep={sweep} error={error} take={setSweep} />
      <h2 className="jp-DtrainUi-hidden">{trans.__('Plots')}</h2>
      <div className="jp-DtrainSweep-plots">
        <div className="jp-DtrainUi-charts">
          <ValueCurves sweep={sweep} marked={marked} trans={trans} />
          <Parallel
            sweep={sweep}
            brushes={brushes}
            brush={setBrushes}
            marked={marked}
            trans={trans}
          />
          <Importance sweep={sweep} trans={trans} />
        </div>
      </div>
      <Trials {...props} sweep={sweep} brushes={brushes} mark={setMarked} />
    </>
  );
}

interface IHeadProps extends ISweepProps {
  sweep: Sweep;
  /** Why the displayed state is not current; empty if it is. */
  error: string;
  take: (sweep: Sweep) => void;
}

function Head(props: IHeadProps): JSX.Element {
  const { sweep, trans } = props;
  const { best } = sweep;
  const hint = sweepHint(sweep, trans);
  const uncounted = uncountedText(sweep, trans);
  return (
    <>
      <div className="jp-DtrainSweep-head">
        <Glyph kind={sweepGlyph(sweep)} label={sweepState(sweep, trans)} />
        <div>
          <h1>
            <span role={sweep.state === 'failed' ? 'alert' : 'status'}>
              {sweepSentence(sweep, trans)}
            </span>
          </h1>
          <p className="jp-DtrainUi-under">
            {best
              ? sweepEnded(sweep)
                ? trans.__(
                    'The best: trial %1 with %2.',
                    best.number,
                    parametersLine(best)
                  )
                : trans.__(
                    'The best so far: trial %1 with %2.',
                    best.number,
                    parametersLine(best)
                  )
              : notebookFile(sweep)}
          </p>
          {uncounted && <p className="jp-DtrainUi-under">{uncounted}</p>}
          {hint && <p>{hint}</p>}
          {props.error && <p>{props.error}</p>}
        </div>
      </div>
      <Actions {...props} />
      <Facts sweep={sweep} trans={trans} />
    </>
  );
}

/** What can be done with a sweep, and with its best trial. */
function Actions(props: IHeadProps): JSX.Element {
  const { sweep, commands, trans } = props;
  const { best } = sweep;
  const resume = resumeWords(
    best ?? { checkpoint_step: null, begins_again: false },
    trans,
    true
  );
  // the trials that are left would run the same copy of the notebook, and end alike
  const inVain =
    sweep.state === 'failed' && sweep.reason?.code === 'no_objective';
  const run = (command: string): void => {
    const args = { id: sweep.id, name: sweep.name };
    void commands.execute(command, args).then((now: Sweep | undefined) => {
      if (now) {
        props.take(now);
      }
    });
  };
  const button = (
    label: string,
    act: () => void,
    primary = false,
    title?: string
  ): JSX.Element => (
    <button
      type="button"
      className={
        primary ? 'jp-DtrainUi-button jp-mod-primary' : 'jp-DtrainUi-button'
      }
      title={title}
      onClick={act}
    >
      {label}
    </button>
  );
  // of the plugin of jobs, which may be disabled
  const ofBest = (
    command: string,
    label: string,
    primary = false,
    title?: string
  ): JSX.Element | false =>
    commands.hasCommand(command) &&
    button(
      label,
      () =>
        void commands.execute(command, {
          id: best?.job ?? '',
          name: `${sweep.name} ${best?.number ?? ''}`
        }),
      primary,
      title
    );
  return (
    <div className="jp-DtrainSweep-actions">
      {sweep.may.includes('resume') &&
        !inVain &&
        button(trans.__('Resume'), () => run(CommandIDs.resumeSweep), true)}
      {best?.job && (
        <>
          {ofBest(
            CommandIDs.openExecuted,
            trans.__('Open the best notebook'),
            sweep.state === 'succeeded'
          )}
          {ofBest(CommandIDs.openJob, trans.__('Open the best job'))}
          {best.checkpoint_step !== null &&
            ofBest(CommandIDs.resumeJob, resume.label, false, resume.why)}
          {ofBest(
            CommandIDs.duplicateJob,
            trans.__('Submit with these values…')
          )}
        </>
      )}
      {button(
        trans.__('Open notebook'),
        () => props.openNotebook(notebookFile(sweep)),
        inVain
      )}
      {sweep.may.includes('resume') &&
        inVain &&
        button(
          trans.__('Resume'),
          () => run(CommandIDs.resumeSweep),
          false,
          trans.__('Its trials run the notebook as it was when they began.')
        )}
      {sweep.may.includes('stop') &&
        button(trans.__('Stop…'), () => run(CommandIDs.stopSweep))}
      {sweep.may.includes('delete') &&
        button(trans.__('Delete…'), () => run(CommandIDs.deleteSweep))}
    </div>
  );
}

function Facts(props: { sweep: Sweep; trans: TranslationBundle }): JSX.Element {
  const { sweep, trans } = props;
  const { size } = sweep;
  const samplers: Record<Sweep['sampler'], string> = {
    tpe: 'TPE',
    random: trans.__('random'),
    grid: trans.__('grid')
  };
  const fixed = Object.entries(sweep.parameters).map(
    ([name, value]) => `${name} ${formatValue(value)}`
  );
  const facts: Fact[] = [
    [
      trans.__('Objective'),
      sweep.direction === 'minimize'
        ? trans.__('%1, lowest is best', sweep.objective)
        : trans.__('%1, highest is best', sweep.objective)
    ],
    [
      trans.__('Sampler'),
      sweep.pruner
        ? trans.__('%1, bad trials stopped early', samplers[sweep.sampler])
        : samplers[sweep.sampler]
    ],
    [
      trans.__('Size'),
      trans._n(
        '%1 trial of %2 × %3, %4 at once',
        '%1 trials of %2 × %3, %4 at once',
        sweep.total,
        size.nodes,
        size.ranks_per_node,
        sweep.parallel
      )
    ],
    [trans.__('Profile'), sweep.profile],
    [trans.__('Fixed'), fixed.join(', ') || null],
    [trans.__('Started'), moment(sweep.created_at)],
    [
      trans.__('Ended'),
      sweepEnded(sweep) && sweep.ended_at !== null
        ? moment(sweep.ended_at)
        : null
    ],
    [trans.__('Folder'), sweep.directory]
  ];
  return <FactLine facts={facts} />;
}
