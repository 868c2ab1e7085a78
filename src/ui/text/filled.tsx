import React from 'react';

/**
 * A translated sentence with elements where it has %1, %2, …: each language has its own order of words.
 *
 * The sentence is translated with its own placeholders as arguments: `trans.__('Run %1', '%1')`.
 */
export function Filled(props: {
  text: string;
  parts: readonly React.ReactNode[];
}): JSX.Element {
  const { text, parts } = props;
  return (
    <>
      {text.split(/%(\d)/).map((piece, i) => (
        <React.Fragment key={i}>
          {i % 2 ? parts[Number(piece) - 1] : piece}
        </React.Fragment>
      ))}
    </>
  );
}
