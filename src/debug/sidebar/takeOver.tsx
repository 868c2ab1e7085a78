import { TranslationBundle } from '@jupyterlab/translation';
import React, { useEffect, useState } from 'react';

import { Action } from '../../ui/actionButton';
import { ITakeOver } from '../model/world';

interface IProps {
  /** Why the debugger was refused; when it is told again, the holder may be another one. */
  notes: readonly string[];
  takeOver: ITakeOver;
  trans: TranslationBundle;
  /** Called with an error. */
  onError: (error: unknown) => void;
}

/** The way to ranks that another client debugs; nothing until it is known whether that is a notebook in this window. */
export function TakeOver(props: IProps): JSX.Element | null {
  const { notes, takeOver, trans, onError } = props;
  const [holder, setHolder] = useState<string | null>();
  const [pending, setPending] = useState(false);
  useEffect(() => {
    let shown = true;
    takeOver
      .holder()
      .then(name => shown && setHolder(name))
      .catch(onError);
    return () => {
      shown = false;
    };
  }, [notes, takeOver, onError]);
  if (holder === undefined) {
    return null;
  }
  const paused = holder === null ? 0 : takeOver.paused().length;
  const [label, title] =
    holder === null
      ? [
          trans.__('Try again'),
          trans.__('Debug the ranks here, once they are debugged nowhere else')
        ]
      : paused
        ? [
            trans._n('Go to the paused rank', 'Go to the paused ranks', paused),
            trans.__('Show %1, in whose debugger ranks are paused', holder)
          ]
        : [
            trans.__('Debug here instead'),
            trans.__('Turn the debugger of %1 off, and this one on', holder)
          ];
  return (
    <Action
      className="jp-DtrainUi-link"
      label={label}
      title={title}
      why={pending ? trans.__('The ranks are being asked for.') : null}
      onClick={() => {
        setPending(true);
        return takeOver
          .execute()
          .catch(onError)
          .finally(() => setPending(false));
      }}
    />
  );
}
