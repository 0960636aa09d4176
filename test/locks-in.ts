import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The lock files of git and of runs in the clone, by their paths in its `.git`. */
export function locksIn(clone: string): string[] {
  const within = readdirSync(join(clone, '.git'), { recursive: true, encoding: 'utf8' })
  return within.filter((name) => /\.lock(\.|$)/.test(name))
}
