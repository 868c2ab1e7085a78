import { TranslationBundle } from '@jupyterlab/translation';

import { JobPlan } from '../../tokens';
import { formatGiB } from '../../metrics/format';

const hoursFormat = new Intl.NumberFormat(undefined, {
  maximumFractionDigits: 1
});

/** GPU-hours and the like: 0.5, 768, 4,300. */
export function formatHours(hours: number): string {
  return hoursFormat.format(hours);
}

/** Hours that a job may use, and the hours left of its account. */
export function budgetWords(
  budget: NonNullable<JobPlan['budget']>,
  trans: TranslationBundle
): string {
  const left = formatHours(budget.left_hours);
  const gpu = budget.unit === 'GPU';
  if (budget.asked_hours === null) {
    return gpu
      ? trans.__('%1 GPU-hours left', left)
      : trans.__('%1 CPU-hours left', left);
  }
  const asked = formatHours(budget.asked_hours);
  return gpu
    ? trans.__('At most %1 of the %2 GPU-hours left', asked, left)
    : trans.__('At most %1 of the %2 CPU-hours left', asked, left);
}

/** Free space in a job's future folder: the smaller of disk space and quota. */
export function freeSpaceText(
  space: NonNullable<JobPlan['room']>,
  trans: TranslationBundle
): string {
  const { free_bytes: free, quota_bytes: quota } = space;
  if (quota !== null && (free === null || quota < free)) {
    return trans.__('Your quota leaves %1 GiB', formatGiB(quota));
  }
  return free === null ? '' : trans.__('%1 GiB of disk free', formatGiB(free));
}
