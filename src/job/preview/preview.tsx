import { Clipboard } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import React, { useId } from 'react';

import { JobPlan } from '../../tokens';
import { Code, Highlight } from './code';
import { tabsOf } from './previewTabs';
import { tellBriefly } from '../../ui/text/toast';

export type { Highlight } from './code';

/**
 * What a preview is of: the form; the form without its invalid fields; or an earlier form, as the server refuses
 * the present one, or does not answer.
 */
export type PreviewState = 'current' | 'partial' | 'earlier';

/** Preview of what will run, in tabs: to read, copy and download. */
export function Preview(props: {
  plan: JobPlan;
  state: PreviewState;
  /** The tab that is shown. */
  chosen: string;
  choose: (tab: string) => void;
  /** Which trial of a sweep it is; undefined for a job. */
  trial?: string;
  highlight: Highlight;
  trans: TranslationBundle;
}): JSX.Element {
  const { trans, chosen, trial } = props;
  const id = useId();
  const tabs = tabsOf(props.plan, trans, trial !== undefined);
  const index = Math.max(
    0,
    tabs.findIndex(t => t.key === chosen)
  );
  const shown = tabs[index];
  const note = {
    current: '',
    partial: trans.__('Without the fields that are invalid.'),
    earlier: trans.__('As it was at the last check that succeeded.')
  }[props.state];
  const move = (event: React.KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) {
      const next = tabs[(index + by + tabs.length) % tabs.length];
      props.choose(next.key);
      document.getElementById(`${id}-${next.key}`)?.focus();
    }
  };
  const download = (): void => {
    const link = document.createElement('a');
    const url = URL.createObjectURL(new Blob([shown.text]));
    link.href = url;
    link.download =
      { script: 'dtrain_main.py', job: 'job.sh' }[shown.key] ??
      `${shown.key}.txt`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <section
      className="jp-DtrainJob-preview"
      aria-label={trans.__('What will run')}
    >
      {trial && <p className="jp-DtrainUi-under">{trial}</p>}
      <div className="jp-DtrainJob-tabs">
        <div role="tablist" onKeyDown={move}>
          {tabs.map(tab => (
            <button
              key={tab.key}
              id={`${id}-${tab.key}`}
              type="button"
              role="tab"
              title={tab.title ?? tab.label}
              aria-selected={tab === shown}
              aria-controls={`${id}-text`}
              tabIndex={tab === shown ? 0 : -1}
              onClick={() => props.choose(tab.key)}
            >
              {tab.label}
            </button>
          ))}
        </div>
        <button
          type="button"
          className="jp-DtrainUi-link"
          onClick={() => {
            Clipboard.copyToSystem(shown.text);
            tellBriefly(trans.__('"%1" is on the clipboard.', shown.label));
          }}
        >
          {trans.__('Copy')}
        </button>
        <button type="button" className="jp-DtrainUi-link" onClick={download}>
          {trans.__('Download')}
        </button>
      </div>
      {note && <p className="jp-DtrainUi-note">{note}</p>}
      <div
        id={`${id}-text`}
        className="jp-DtrainJob-code"
        role="tabpanel"
        aria-labelledby={`${id}-${shown.key}`}
        tabIndex={0}
      >
        <Code
          {...shown}
          key={shown.key}
          highlight={props.highlight}
          trans={trans}
        />
      </div>
    </section>
  );
}

/** Scroll a form to its preview, and focus it. */
export function goToPreview(form: HTMLElement | null): void {
  const preview = form?.querySelector('.jp-DtrainJob-preview');
  preview?.scrollIntoView({ block: 'start' });
  preview?.querySelector<HTMLElement>('[role=tab][tabindex="0"]')?.focus();
}
