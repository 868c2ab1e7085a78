import { Notification } from '@jupyterlab/apputils';

/** Duration of a message that answers a click, ms. */
export const TOAST_MS = 5000;

/** Time in which a toast fades out, ms. */
const FADE_MS = 1000;

/** A toast stays for as long as the pointer or the focus is on it. */
const HELD = '.Toastify__toast:is(:hover, :focus-within)';

/**
 * Show what only answers a click: for a few seconds, and not in the list of notifications afterwards.
 *
 * @returns the id of the notification.
 */
export function tellBriefly(
  text: string,
  type: 'success' | 'info' = 'success'
): string {
  const id = Notification[type](text, { autoClose: TOAST_MS });
  const forget = (): void => {
    if (document.querySelector(HELD)) {
      setTimeout(forget, TOAST_MS);
    } else {
      Notification.dismiss(id);
    }
  };
  setTimeout(forget, TOAST_MS + FADE_MS);
  return id;
}
