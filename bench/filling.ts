/** What the fillers of homes share. */
import { randomBytes } from 'node:crypto'
import type { Journal } from '../storage/journal.ts'

export function hex(digits: number): string {
  return randomBytes(digits / 2).toString('hex')
}

/** Resolves in a later turn, once the journal takes more. */
export function room(journal: Journal): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => void setImmediate(resolve)
    if (!journal.waitForRoom(go)) go()
  })
}
