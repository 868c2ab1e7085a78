import { TranslationBundle } from '@jupyterlab/translation';
import { ServerConnection } from '@jupyterlab/services';
import React, { ReactNode, useEffect, useState } from 'react';

import { Reading } from './formFrame';
import { INotebook } from './notebook';

/** State of a form's notebook until it has been read: a restored view exists before it. */
export interface INotebookToRead {
  path: string;
  /** Reads it; called by the view when it is visible. */
  read(): Promise<INotebook>;
}

/** A form of a notebook, once the notebook has been read; or why that failed. */
export function ReadForm(props: {
  notebook: INotebookToRead;
  trans: TranslationBundle;
  children: (notebook: INotebook) => ReactNode;
}): JSX.Element {
  const { notebook, trans } = props;
  const [read, setRead] = useState<INotebook | null>(null);
  const [failure, setFailure] = useState('');
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let gone = false;
    setFailure('');
    notebook.read().then(
      found => !gone && setRead(found),
      (error: unknown) => !gone && setFailure(whyNot(error, notebook, trans))
    );
    return () => {
      gone = true;
    };
  }, [notebook, attempt, trans]);
  if (read) {
    return <>{props.children(read)}</>;
  }
  if (!failure) {
    return <Reading trans={trans} />;
  }
  return (
    <div className="jp-DtrainUi-note" role="alert">
      <p>{failure}</p>
      <button
        type="button"
        className="jp-DtrainUi-button"
        onClick={() => setAttempt(attempt + 1)}
      >
        {trans.__('Try again')}
      </button>
    </div>
  );
}

function whyNot(
  error: unknown,
  notebook: INotebookToRead,
  trans: TranslationBundle
): string {
  const { path } = notebook;
  const gone =
    error instanceof ServerConnection.ResponseError &&
    error.response.status === 404;
  return gone
    ? trans.__('%1 is not there any more: it was moved or deleted.', path)
    : trans.__("%1 can't be read: %2", path, String(error));
}
