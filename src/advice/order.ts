import { Advice, ITriedAt, Metrics } from '../tokens';
import { helped } from './tried';

/** Whether advice was tried, and did not help. */
export const isVain = ({ tried }: Advice): boolean => !!tried && !helped(tried);

/**
 * Advice in display order: advice tried in vain comes last.
 *
 * @param stays - ids of advice that keeps its place.
 */
export function inOrder(
  advice: readonly Advice[],
  stays?: ReadonlySet<string>
): Advice[] {
  const last = (a: Advice): boolean => isVain(a) && !stays?.has(a.id);
  return [...advice.filter(a => !last(a)), ...advice.filter(last)];
}

/**
 * Advice in display order, but what was tried last is where the user clicked: its result would be hidden else, if
 * others come before it now.
 */
export function withTried(
  ordered: readonly Advice[],
  tried: ITriedAt | null
): Advice[] {
  const item = ordered.find(a => a.id === tried?.advice);
  if (!tried || !item) {
    return [...ordered];
  }
  const others = ordered.filter(a => a !== item);
  return [...others.slice(0, tried.at), item, ...others.slice(tried.at)];
}

/** The best advice that was not dismissed. */
export function adviceOf(
  metrics: Metrics,
  dismissed: (advice: string) => boolean
): Advice | null {
  return inOrder(metrics.advice).find(a => !dismissed(a.id)) ?? null;
}
