/** This package's version, from the one place where it is written. */
import { readFileSync } from 'node:fs'

/** `package.json` lies two folders above dist/bin, where this is when it is built, and one above cli. */
function find(): string {
  for (const path of ['../../package.json', '../package.json']) {
    try {
      const found = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
      if (found.name === 'intendant') return found.version
    } catch {
      // Not there: the next one.
    }
  }
  return '0.0.0'
}

export const VERSION: string = find()
