import React from 'react';

/** A name, and what it has. */
export type Fact = readonly [name: string, value: React.ReactNode];

/** Facts below each other: names in a column, values in the next. */
export function FactList({ facts }: { facts: readonly Fact[] }): JSX.Element {
  return (
    <dl className="jp-DtrainUi-facts">
      {facts.map(([name, value]) => (
        <React.Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </React.Fragment>
      ))}
    </dl>
  );
}

/** Facts beside each other, as many as fit on a line; those without a value are left out. */
export function FactLine({ facts }: { facts: readonly Fact[] }): JSX.Element {
  return (
    <dl className="jp-DtrainUi-factLine">
      {facts
        .filter(([, value]) => value !== null && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
