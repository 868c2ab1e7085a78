import { TranslationBundle } from '@jupyterlab/translation';
import { Clipboard } from '@jupyterlab/apputils';
import React, { useId, useState } from 'react';

import { JobPlan } from '../tokens';

interface ITab {
  key: string;
  label: string;
  text: string;
}

function tabsOf(plan: JobPlan, trans: TranslationBundle): ITab[] {
  const text = (name: string): string =>
    plan.files.find(f => f.path === name)?.text ?? '';
  const nodes = plan.files.filter(f => /^node\.\d+\.sh$/.test(f.path));
  const tabs: ITab[] = [
    { key: 'script', label: trans.__('Script'), text: text('code/main.py') },
    { key: 'job', label: trans.__('Job file'), text: text('job.sh') },
    ...nodes.map(f => ({ key: f.path, label: f.path, text: f.text ?? '' })),
    {
      key: 'files',
      label: trans.__('Files to copy'),
      text: plan.files
        .map(f => `${String(f.bytes).padStart(10)}  ${f.path}`)
        .join('\n')
    },
    { key: 'command', label: trans.__('As a command'), text: plan.command }
  ];
  if (plan.changes) {
    tabs.push({
      key: 'changes',
      label: trans.__('Since the last job'),
      text: plan.changes
    });
  }
  return tabs;
}

/** What will run, in tabs: to read, to copy, to download. */
export function Preview(props: {
  plan: JobPlan;
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
      <pre
        id={`${id}-text`}
        role="tabpanel"
        aria-labelledby={`${id}-${shown.key}`}
        tabIndex={0}
      >
        {shown.text}
      </pre>
    </section>
  );
}
