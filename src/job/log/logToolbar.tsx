import { TranslationBundle } from '@jupyterlab/translation';
import { searchIcon } from '@jupyterlab/ui-components';
import React from 'react';

import { Glyph } from '../../ui/icons/glyph';
import { useViewState } from '../../ui/viewState';
import { Found, foundWords } from './find';
import { tellBriefly } from '../../ui/text/toast';

interface IToolbarProps {
  /** Existing ranks. */
  size: number;
  ranks: string;
  setRanks: (ranks: string) => void;
  fold: boolean;
  setFold: (fold: boolean) => void;
  follow: boolean;
  /** Whether the log is complete. */
  ended: boolean;
  toggleFollow: () => void;
  /** Why there is no first error to show; null if there is one. */
  noError: string | null;
  toError: () => void;
  toStart: () => void;
  /** Result of the last search; null for none. */
  found: Found | null;
  find: (text: string) => void;
  trans: TranslationBundle;
}

/** Toolbar of a log: ranks, search, folding, and navigation. */
export function LogToolbar(props: IToolbarProps): JSX.Element {
  const { fold, follow, trans } = props;
  return (
    <div className="jp-DtrainJob-logBar">
      <input
        value={props.ranks}
        className="jp-DtrainJob-rankSet"
        placeholder={trans.__('All ranks')}
        title={trans.__('Ranks, as 0-3,5; of %1', props.size)}
        aria-label={trans.__('Ranks')}
        onChange={event => props.setRanks(event.target.value.trim())}
      />
      <FindField {...props} />
      <button
        type="button"
        className="jp-DtrainUi-chip"
        aria-pressed={fold}
        title={trans.__(
          "Repeats of a line are counted. Lines that differ between ranks in one whole number are shown as one line with every rank's number."
        )}
        onClick={() => props.setFold(!fold)}
      >
        {trans.__('Fold repeats')}
      </button>
      <FirstError {...props} />
      <button
        type="button"
        className="jp-DtrainUi-button"
        onClick={props.toStart}
      >
        {trans.__('Beginning')}
      </button>
      <button
        type="button"
        className="jp-DtrainUi-button"
        aria-pressed={follow}
        aria-label={props.ended ? trans.__('End') : trans.__('Follow')}
        title={
          props.ended
            ? trans.__('Go to the last line; F on the keyboard')
            : trans.__('F on the keyboard; scrolling up stops following')
        }
        onClick={props.toggleFollow}
      >
        ↓ {props.ended ? trans.__('End') : trans.__('Follow')}
      </button>
    </div>
  );
}

/** The field to search in, with the result of the last search for its text. */
function FindField(props: IToolbarProps): JSX.Element {
  const { found, find, ranks, trans } = props;
  const [text, setText] = useViewState('log text', '');
  const words = found?.text === text ? foundWords(found, ranks, trans) : null;
  return (
    <span className="jp-DtrainJob-find">
      <span className="jp-DtrainJob-search">
        <searchIcon.react tag="span" />
        <input
          type="search"
          value={text}
          placeholder={trans.__('Find (Enter)')}
          aria-label={trans.__('Find in the log')}
          title={trans.__('Ctrl+F on the keyboard; Enter: next match')}
          onChange={event => {
            setText(event.target.value);
            if (!event.target.value) {
              find('');
            }
          }}
          onKeyDown={event => {
            if (event.key === 'Enter' && text) {
              find(text);
            }
          }}
        />
      </span>
      <span
        className="jp-DtrainJob-found"
        data-kind={words ? found?.kind : undefined}
        role="status"
        title={words?.title || undefined}
      >
        {words?.text}
      </span>
    </span>
  );
}

/** The button that goes to the first error, or says why there is none. */
function FirstError(props: IToolbarProps): JSX.Element {
  const { noError, trans } = props;
  return (
    <button
      type="button"
      className="jp-DtrainUi-button"
      aria-disabled={noError !== null}
      title={noError ?? trans.__('E on the keyboard')}
      onClick={() => {
        if (noError === null) {
          props.toError();
        } else {
          tellBriefly(noError, 'info');
        }
      }}
    >
      <span className="jp-DtrainJob-logBarGlyph" aria-hidden="true">
        <Glyph kind="stuck" label="" />
      </span>{' '}
      {trans.__('First error')}
    </button>
  );
}
