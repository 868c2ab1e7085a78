import { TranslationBundle } from '@jupyterlab/translation';

import { cellName, locationText } from '../../locations/texts';
import { Cluster, Lost, Rank, Verdict } from '../../tokens';
import { adviceTitle } from '../../advice/tried';
import { words } from '../../advice/texts';
import { shownMetrics } from '../../metrics/currentMetrics';
import {
  formatGiB,
  formatRanks,
  formatRate,
  formatSpan,
  formatTime,
  formatValue,
  UNKNOWN
} from '../../metrics/format';
import { ranksIn } from '../../metrics/rankSets';
import { shareInText } from '../../metrics/share';
import { killedText, wasKilled } from '../../verdicts/endings';
import { ranksText, sentence, stateWord } from '../../verdicts/sentence';
import { blamedWord } from '../../verdicts/texts';
import { alarmOf } from '../../verdicts/verdict';
import { positionText, ranksOfPosition } from './hangPosition';

/** Maximum number of ranks with their own row; conspicuous ranks come first, and the rest is counted. */
const MOST_ROWS = 16;

/**
 * State of a cluster as Markdown for a chat or an issue: the panel's sentence, its metrics, and a table of
 * ranks.
 *
 * @param now - ms; written with date and time zone, because readers may be elsewhere, and read it later
 */
export function reportText(
  cluster: Cluster,
  trans: TranslationBundle,
  now = Date.now()
): string {
  const { name, profile, nodes, world, reason, running, lost } = cluster;
  const where = trans._n('%1 node', '%1 nodes', nodes.length);
  const time = new Date(now).toISOString().replace('T', ' ').slice(0, 19);
  const size = ranksText(world.size, trans);
  const facts = [
    trans.__('%1 on %2, profile %3', size, where, profile),
    ...running.flatMap(cell => runsTexts(cell, raisedIn(cluster), trans)),
    ...cluster.metrics.verdicts.flatMap(verdict =>
      verdictFacts(verdict, cluster, trans)
    ),
    ...metricLines(cluster, trans),
    ...(wasKilled(cluster) ? [killedText(cluster.summary, trans)] : []),
    ...(reason ? [`${reason.message} ${reason.hint}`.trim()] : []),
    ...lost.map(loss =>
      loss.cell
        ? trans.__(
            'rank %1 was lost in %2: %3',
            loss.rank,
            lineOf(loss.cell, loss, trans),
            loss.why
          )
        : trans.__('rank %1 was lost: %2', loss.rank, loss.why)
    ),
    ...cluster.metrics.advice.map(advice =>
      trans.__(
        'advice: %1',
        adviceTitle(words(advice, trans).change, advice, trans)
      )
    )
  ];
  const head = trans.__('%1 (%2 UTC)', sentence(cluster, trans), time);
  const list = facts.map(fact => `- ${fact.replace(/\s+/g, ' ')}`);
  return [
    `**${name}**: ${head}`,
    '',
    ...list,
    ...table(cluster, trans),
    ''
  ].join('\n');
}

/** Ranks that have raised the error after which all are paused; none if that is not known. */
function raisedIn({ summary }: Cluster): number[] {
  return summary.code === 'paused' ? ranksIn(summary.values.raised) : [];
}

/** Which cell runs on which ranks; where one has failed, on which of them. */
function runsTexts(
  running: Cluster['running'][number],
  raised: readonly number[],
  trans: TranslationBundle
): string[] {
  const { cell, kind, notebook, ranks } = running;
  if (kind !== 'post_mortem' || !notebook) {
    return [runsText(running, trans)];
  }
  const others = raised.length ? ranks.filter(r => !raised.includes(r)) : [];
  const failed = ranks.filter(r => !others.includes(r));
  return [
    ...(failed.length
      ? [
          trans._n(
            'is paused where %2 of %3 has failed, on rank %4',
            'is paused where %2 of %3 has failed, on ranks %4',
            failed.length,
            cellName(cell, trans),
            fileName(notebook),
            formatRanks(failed)
          )
        ]
      : []),
    // interrupted, or with an error that follows from the first
    ...(others.length
      ? [
          trans._n(
            'is paused where that failure ended the cell, on rank %2',
            'is paused where that failure ended the cell, on ranks %2',
            others.length,
            formatRanks(others)
          )
        ]
      : [])
  ];
}

/** Which cell runs on which ranks. */
function runsText(
  { cell, kind, notebook, ranks }: Cluster['running'][number],
  trans: TranslationBundle
): string {
  const name = cellName(cell, trans, kind);
  return trans._n(
    'runs %2 on rank %3',
    'runs %2 on ranks %3',
    ranks.length,
    notebook ? trans.__('%1 of %2', name, fileName(notebook)) : name,
    formatRanks(ranks)
  );
}

/** What the card says of a verdict: where which ranks stand, since when, and what it advises. */
function verdictFacts(
  verdict: Verdict,
  cluster: Cluster,
  trans: TranslationBundle
): string[] {
  const { standings, since_s, hint } = verdict;
  return [
    ...standings.map(position =>
      trans.__(
        '%1: %2',
        ranksOfPosition(position, trans),
        positionText(position, verdict, cluster, trans)
      )
    ),
    ...(since_s === null ? [] : [trans.__('since %1', formatSpan(since_s))]),
    ...(hint ? [hint] : [])
  ];
}

function fileName(path: string): string {
  return path.split('/').pop() ?? path;
}

function lineOf(
  cell: string,
  { line, cell_kind }: Pick<Lost, 'line' | 'cell_kind'>,
  trans: TranslationBundle
): string {
  return line
    ? trans.__('cell %1, line %2', cell, line)
    : cellName(cell, trans, cell_kind);
}

/** Current metrics, or the last ones, labelled as such. */
function metricLines(cluster: Cluster, trans: TranslationBundle): string[] {
  const { current, samples, step, overhead, error } = shownMetrics(
    cluster.metrics
  );
  const parts = [
    samples !== null && trans.__('%1 samples/s', formatRate(samples)),
    step !== null && trans.__('step %1', formatTime(step)),
    overhead !== null &&
      trans.__('communication %1', shareInText(overhead, error, trans))
  ].filter(part => part !== false);
  const values = Object.entries(cluster.metrics.values).map(
    ([name, value]) => `${name} ${formatValue(value)}`
  );
  const text = parts.join(', ');
  return [
    ...(text ? [current ? text : trans.__('last: %1', text)] : []),
    ...(values.length ? [values.join(', ')] : [])
  ];
}

/** One row per rank; conspicuous ranks first. */
function table(cluster: Cluster, trans: TranslationBundle): string[] {
  const { ranks, metrics } = cluster;
  if (!ranks.length) {
    return [];
  }
  const alarm = alarmOf(metrics);
  const blamed = alarm?.ranks ?? [];
  const raised = raisedIn(cluster);
  const isConspicuous = (rank: Rank): boolean =>
    rank.slow ||
    blamed.includes(rank.rank) ||
    raised.includes(rank.rank) ||
    ['lost', 'stuck', 'failed'].includes(rank.state);
  const shown = [
    ...ranks.filter(isConspicuous),
    ...ranks.filter(rank => !isConspicuous(rank))
  ].slice(0, MOST_ROWS);
  // as on the card: a stuck rank's own state says less than the verdict
  const at = (rank: Rank): string => {
    const position = alarm?.standings.find(s => s.ranks.includes(rank.rank));
    return position && alarm
      ? positionText(position, alarm, cluster, trans)
      : (locationText(rank.where, trans) ?? rank.doing ?? '');
  };
  const waits = (rank: Rank): string =>
    alarm && alarm.since_s !== null && alarm.peers.includes(rank.rank)
      ? formatSpan(alarm.since_s)
      : formatTime(rank.wait_s);
  const word = (rank: Rank): string =>
    alarm &&
    blamed.includes(rank.rank) &&
    ['stuck', 'busy'].includes(rank.state)
      ? blamedWord(alarm.code, trans)
      : stateWord(rank.state, trans);
  const rows = shown.map(rank => [
    `${rank.rank}`,
    `${rank.node}, ${rank.device}`,
    rank.slow
      ? trans.__('%1, slow', word(rank))
      : rank.state === 'paused' && raised.includes(rank.rank)
        ? trans.__('%1, failed', word(rank))
        : word(rank),
    at(rank),
    rank.step === null ? UNKNOWN : `${rank.step}`,
    formatTime(rank.step_s),
    waits(rank),
    `${formatGiB(rank.memory_bytes)} GiB`
  ]);
  const head = [
    trans.__('Rank'),
    trans.__('Device'),
    trans.__('State'),
    trans.__('Where'),
    trans.__('Step'),
    trans.__('Step time'),
    trans.__('Waiting'),
    trans.__('Memory')
  ];
  const more = ranks.length - shown.length;
  return [
    '',
    rowOf(head),
    rowOf(head.map(() => '---')),
    ...rows.map(rowOf),
    ...(more > 0
      ? ['', trans._n('and %1 more rank', 'and %1 more ranks', more)]
      : [])
  ];
}

/** A row of a table; vertical bars in cells are escaped. */
function rowOf(cells: readonly string[]): string {
  return `| ${cells.map(cell => cell.replace(/\|/g, '\\|')).join(' | ')} |`;
}
