import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

interface IErrorBoundaryProps {
  trans: TranslationBundle;
  children: React.ReactNode;
}

/** Shows an error if drawing a view fails; otherwise React would remove it and leave it blank. */
export class ErrorBoundary extends React.Component<
  IErrorBoundaryProps,
  { failure: unknown }
> {
  override state: { failure: unknown } = { failure: null };

  static getDerivedStateFromError(failure: unknown): { failure: unknown } {
    return { failure };
  }

  override render(): React.ReactNode {
    const { failure } = this.state;
    const { trans, children } = this.props;
    if (failure === null) {
      return children;
    }
    return (
      <div className="jp-DtrainUi-note" role="alert">
        <p>
          {trans.__(
            "This can't be shown: an error in dtrain-lab (%1). Running cells and jobs are not affected.",
            String(failure)
          )}
        </p>
        <p>
          {trans.__(
            "If it fails again, report it with what the browser's console says."
          )}
        </p>
        <button
          type="button"
          className="jp-DtrainUi-button"
          onClick={() => this.setState({ failure: null })}
        >
          {trans.__('Try again')}
        </button>
      </div>
    );
  }
}
