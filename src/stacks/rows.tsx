import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React from 'react';

import { LocationLink } from '../locations/link';
import { StackFrame } from '../tokens';
import { formatRanks } from '../metrics/format';
import { Glyph } from '../ui/icons/glyph';
import { GlyphKind } from '../verdicts/glyphKind';
import { IRun, IStackGroup, userFrame } from './groupStacks';
import { doingOf, titleOf } from './texts';

interface IGroupProps {
  group: IStackGroup;
  /** Whether the ranks have ended: they do nothing any more. */
  ended: boolean;
  byPosition: boolean;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Ranks with the same stack: their numbers, activity and frames. */
export function Group(props: IGroupProps): JSX.Element {
  const { group, trans } = props;
  const title = titleOf(group, trans);
  const doing = doingOf(group, trans);
  const own = userFrame(group);
  // if it is the user's only frame, the same link is right below
  const frames = group.runs.flatMap(run => (run.library ? [] : run.frames));
  return (
    <section
      className="jp-DtrainStacks-group"
      aria-label={title}
      data-blamed={group.blamed ? (group.moves ? 'slow' : 'stuck') : undefined}
    >
      <h3>
        <Glyph kind={props.ended ? 'idle' : glyphOf(group)} label="" />
        <b title={formatRanks(group.ranks)}>{title}</b>
        {own && frames.length > 1 && (
          <LocationLink
            place={own.where}
            byPosition={props.byPosition}
            commands={props.commands}
            trans={trans}
          />
        )}
        {doing && <span>{doing}</span>}
      </h3>
      {group.runs.length > 0 && (
        <ol aria-label={trans.__('Frames, most recent call last')}>
          {group.runs.map((run, i) => (
            <Run key={i} run={run} {...props} />
          ))}
        </ol>
      )}
      {group.text && (
        <details className="jp-DtrainStacks-threads">
          <summary>
            {trans.__('All threads of rank %1', group.ranks[0])}
          </summary>
          <pre tabIndex={0}>{group.text}</pre>
        </details>
      )}
    </section>
  );
}

function Run(props: IGroupProps & { run: IRun }): JSX.Element {
  const { run, trans } = props;
  const frames = run.frames.map((frame, i) => (
    <Line key={i} frame={frame} {...props} />
  ));
  if (!run.library) {
    return <>{frames}</>;
  }
  const last = run.frames[run.frames.length - 1];
  return (
    <li>
      <details className="jp-DtrainStacks-library">
        <summary>
          {trans._n('%1 library frame', '%1 library frames', frames.length)}
          <span>{last.where.function}</span>
        </summary>
        <ol>{frames}</ol>
      </details>
    </li>
  );
}

function Line(props: IGroupProps & { frame: StackFrame }): JSX.Element {
  const { frame, byPosition, commands, trans } = props;
  const { where, source } = frame;
  return (
    <li className="jp-DtrainStacks-frame">
      {frame.library ? (
        <span title={where.file ?? ''}>
          {where.file?.split('/').slice(-3).join('/')}:{where.line}
        </span>
      ) : (
        <LocationLink
          place={where}
          byPosition={byPosition}
          commands={commands}
          trans={trans}
        />
      )}
      <span>{where.function}</span>
      {source && <code>{source.trim()}</code>}
    </li>
  );
}

function glyphOf(group: IStackGroup): GlyphKind {
  if (group.error) {
    return 'off';
  }
  if (group.blamed) {
    return group.moves ? 'slow' : 'stuck';
  }
  if (group.operation) {
    return 'in collective';
  }
  return group.runs.length ? 'busy' : 'idle';
}
