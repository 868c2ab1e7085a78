import { Dialog, ReactWidget } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatCount, formatSize, formatTime } from '../../metrics/format';
import { ProfileCheck } from '../../tokens';
import { openDialog } from '../../ui/dialog';
import { checkSentences, reportText } from './capacity';

/** Characters of a notification that JupyterLab shows. */
const MOST_SHOWN = 140;

/** What a notification says of a check: all of it if that fits, else that there is more. */
export function reportInToast(
  name: string,
  report: ProfileCheck,
  trans: TranslationBundle
): string {
  const whole = reportText(name, report, trans);
  if (whole.length <= MOST_SHOWN) {
    return whole;
  }
  const warnings = report.findings.length;
  return warnings
    ? trans._n(
        '%2 can run, with %1 warning.',
        '%2 can run, with %1 warnings.',
        warnings,
        name
      )
    : trans.__('%1 can run.', name);
}

/** Show all that the check of a profile has found. */
export async function showReport(
  name: string,
  report: ProfileCheck,
  trans: TranslationBundle
): Promise<void> {
  const body = ReactWidget.create(<Report report={report} trans={trans} />);
  body.addClass('jp-DtrainCluster-check');
  await openDialog({
    title: trans.__('%1 can run.', name),
    body,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

interface IProps {
  report: ProfileCheck;
  trans: TranslationBundle;
}

/** Warnings, then how many ranks fit, the speed between two nodes, and each node. */
export function Report({ report, trans }: IProps): JSX.Element {
  const { findings, room, network } = report;
  const columns = columnsOf(report, trans);
  return (
    <>
      {findings.length > 0 && (
        <ul>
          {checkSentences(findings, trans).map((text, i) => (
            <li key={i}>{text}</li>
          ))}
        </ul>
      )}
      <p>{checkSentences(room, trans).join(' ')}</p>
      {network && (
        <p>
          {trans.__(
            'From %1 to %2 (%3, TCP): %4 there and back, %5 a second.',
            network.second,
            network.first,
            network.interface,
            formatTime(network.speed.round_trip_s),
            formatSize(network.speed.bytes_per_s)
          )}
        </p>
      )}
      {/* a wide table is scrolled by keyboard, too */}
      <div
        className="jp-DtrainCluster-checkNodes"
        role="region"
        aria-label={trans.__('Nodes')}
        tabIndex={0}
      >
        <table>
          <thead>
            <tr>
              {columns.map(({ title }) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {report.nodes.map(node => (
              <tr key={node.node}>
                {columns.map(({ title, of }) => (
                  <td key={title}>{of(node) || '–'}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

type CheckedNode = ProfileCheck['nodes'][number];

interface IColumn {
  title: string;
  of: (node: CheckedNode) => string;
}

function columnsOf(
  { framework, nodes }: ProfileCheck,
  trans: TranslationBundle
): IColumn[] {
  const gib = (size: number): string => trans.__('%1 GiB', `${size}`);
  return [
    { title: trans.__('Node'), of: node => node.node },
    { title: trans.__('Cores'), of: node => formatCount(node.cpus) },
    { title: trans.__('GPUs'), of: node => formatCount(node.gpus) },
    { title: trans.__('Memory'), of: node => gib(node.memory_gib) },
    { title: '/dev/shm', of: node => gib(node.shm_gib) },
    { title: 'Python', of: node => node.python },
    { title: framework, of: node => node[framework] ?? '' },
    ...(nodes.some(node => node.gpus)
      ? [{ title: trans.__('Driver'), of: (n: CheckedNode) => n.driver }]
      : []),
    { title: trans.__('Interfaces'), of: node => node.interfaces }
  ];
}
