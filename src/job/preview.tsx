import { TranslationBundle } from '@jupyterlab/translation';
import { Clipboard } from '@jupyterlab/apputils';
import React, { useEffect, useId, useRef, useState } from 'react';

import { JobPlan } from '../tokens';

/** Writes code into an element, in the theme's colours. */
export type Highlight = (
  code: string,
  language: string,
  into: HTMLElement
) => Promise<void>;

interface ITab {
  key: string;
  label: string;
  text: string;
  language: string;
}

/** A line that is wrong, and why. */
interface IMark {
  line: number;
  text: string;
}

/** More text than this is shown plain. */
const COLOURED = 200_000;

function tabsOf(plan: JobPlan, trans: TranslationBundle): ITab[] {
  const text = (name: string): string =>
    plan.files.find(f => f.path === name)?.text ?? '';
  const nodes = plan.files.filter(f => /^node\.\d+\.sh$/.test(f.path));
  const tabs: ITab[] = [
    {
      key: 'script',
      label: trans.__('Script'),
      text: text('code/main.py'),
      language: 'python'
    },
    {
      key: 'job',
      label: trans.__('Job file'),
      text: text('job.sh'),
      language: 'shell'
    },
    ...nodes.map(f => ({
      key: f.path,
      label: f.path,
      text: f.text ?? '',
      language: 'shell'
    })),
    {
      key: 'files',
      language: '',
      label: trans.__('Files to copy'),
      text: plan.files
        .map(f => `${String(f.bytes).padStart(10)}  ${f.path}`)
        .join('\n')
    },
    {
      key: 'command',
      label: trans.__('As a command'),
      text: plan.command,
      language: 'shell'
    }
  ];
  if (plan.changes) {
    tabs.push({
      key: 'changes',
      language: 'diff',
      label: trans.__('Since the last job'),
      text: plan.changes
    });
  }
  return tabs;
}

/** What will run, in tabs: to read, to copy, to download. */
export function Preview(props: {
  plan: JobPlan;
  highlight: Highlight;
  trans: TranslationBundle;
}): JSX.Element {
  const { trans } = props;
  const [chosen, setChosen] = useState('script');
  const id = useId();
  const tabs = tabsOf(props.plan, trans);
  const index = Math.max(
    0,
    tabs.findIndex(t => t.key === chosen)
  );
  const shown = tabs[index];
  const move = (event: React.KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) {
      const next = tabs[(index + by + tabs.length) % tabs.length];
      setChosen(next.key);
      document.getElementById(`${id}-${next.key}`)?.focus();
    }
  };
  const download = (): void => {
    const link = document.createElement('a');
    const url = URL.createObjectURL(new Blob([shown.text]));
    link.href = url;
    link.download =
      { script: 'main.py', job: 'job.sh' }[shown.key] ?? `${shown.key}.txt`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <section
      className="jp-Dtrain-preview"
      aria-label={trans.__('What will run')}
    >
      <div className="jp-Dtrain-tabs">
        <div role="tablist" onKeyDown={move}>
          {tabs.map(tab => (
            <button
              key={tab.key}
              id={`${id}-${tab.key}`}
              type="button"
              role="tab"
              aria-selected={tab === shown}
              aria-controls={`${id}-text`}
              tabIndex={tab === shown ? 0 : -1}
              onClick={() => setChosen(tab.key)}
            >
              {tab.label}
            </button>
          ))}
        </div>
        <button
          type="button"
          className="jp-Dtrain-link"
          onClick={() => Clipboard.copyToSystem(shown.text)}
        >
          {trans.__('Copy')}
        </button>
        <button type="button" className="jp-Dtrain-link" onClick={download}>
          {trans.__('Download')}
        </button>
      </div>
      <div
        id={`${id}-text`}
        className="jp-Dtrain-code"
        role="tabpanel"
        aria-labelledby={`${id}-${shown.key}`}
        tabIndex={0}
      >
        <Code
          {...shown}
          marks={shown.key === 'job' ? marksOf(props.plan) : []}
          highlight={props.highlight}
        />
      </div>
    </section>
  );
}

/** Lines of the job file that the scheduler would not take. */
function marksOf(plan: JobPlan): IMark[] {
  const lines =
    plan.files.find(f => f.path === 'job.sh')?.text?.split('\n') ?? [];
  return plan.findings
    .filter(f => f.severity === 'problem' && f.field)
    .map(f => ({
      line: lines.findIndex(line => line.startsWith(`#SBATCH --${f.field}=`)),
      text: f.fix
    }))
    .filter(mark => mark.line >= 0);
}

/** Code with numbers of its lines. */
function Code(props: {
  text: string;
  language: string;
  marks: readonly IMark[];
  highlight: Highlight;
}): JSX.Element {
  const { text, language, marks, highlight } = props;
  const element = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const into = element.current;
    if (!into) {
      return;
    }
    into.textContent = text;
    if (!language || text.length > COLOURED) {
      return;
    }
    let gone = false;
    const coloured = document.createElement('pre');
    void highlight(text, language, coloured).then(() => {
      if (!gone) {
        into.replaceChildren(...coloured.childNodes);
      }
    });
    return () => {
      gone = true;
    };
  }, [text, language]);
  const count = text.replace(/\n$/, '').split('\n').length;
  return (
    <div className="jp-Dtrain-lines">
      <pre aria-hidden="true">
        {Array.from({ length: count }, (_, n) => n + 1).join('\n')}
      </pre>
      <div>
        {marks.map(mark => (
          <p
            key={mark.line}
            className="jp-Dtrain-lineMark"
            style={{ '--jp-dtrain-line': mark.line } as React.CSSProperties}
          >
            {mark.text}
          </p>
        ))}
        <pre ref={element} />
      </div>
    </div>
  );
}
