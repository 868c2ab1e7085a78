import { useEffect } from 'react';

import { ISite } from '../tokens';

/**
 * Read profiles again when somebody may look at them: once their section is drawn or opened, and when the page is
 * shown or focused again. Their files may have been edited in between; the live frames don't tell, as looking at a
 * folder on a network that hangs would delay all clusters.
 *
 * @param open - whether their section is open
 * @returns reads them now: for a page that stays in front, such as with a terminal in it.
 */
export function useFreshProfiles(site: ISite, open: boolean): () => void {
  useEffect(() => {
    const read = (): void => {
      if (!document.hidden) {
        void site.readProfiles();
      }
    };
    read();
    document.addEventListener('visibilitychange', read);
    window.addEventListener('focus', read);
    return () => {
      document.removeEventListener('visibilitychange', read);
      window.removeEventListener('focus', read);
    };
  }, [site, open]);
  return () => void site.readProfiles();
}
