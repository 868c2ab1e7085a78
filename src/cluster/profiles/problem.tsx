import React from 'react';

import { components } from '../../api/types';

/** The error of a profile's file. */
export type ProfileError = components['schemas']['Error'];

/**
 * What is wrong with a profile's file, and how to mend that: "line 2: unknown key "node". Did you mean nodes?"
 *
 * The path of the file, with which the server's sentence begins, is left out: its profile is named beside this.
 */
export function problemText(error: ProfileError, file: string | null): string {
  const { message, hint } = error;
  const short =
    file && message.startsWith(file)
      ? message.slice(file.length).replace(/^[,:]?\s*/, '')
      : message;
  return [short, hint].filter(Boolean).join(' ');
}

/** A profile's problem; when pointed at, also the path of its file. */
export function Problem(props: {
  error: ProfileError;
  file: string | null;
}): JSX.Element {
  const { error, file } = props;
  return (
    <span
      className="jp-DtrainCluster-problem"
      data-error
      title={file ?? undefined}
    >
      {problemText(error, file)}
    </span>
  );
}
