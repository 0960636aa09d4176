/** Where the two environments lie in a home. */
import { join } from 'node:path'

/** LMDB's own name for the file with all that an environment holds. */
export const DATA_FILE = 'data.mdb'

/** Paths of the two environments in a home. */
export function environmentPaths(home: string): { readonly log: string; readonly view: string } {
  return { log: join(home, 'log'), view: join(home, 'view') }
}
