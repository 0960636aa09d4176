/** This package's version, read from package.json. */
import { readFileSync } from 'node:fs'

/** `package.json` is two folders above the built file in dist/bin, and one above cli. */
function find(): string {
  for (const path of ['../../package.json', '../package.json']) {
    try {
      const found = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
      if (found.name === 'intendant') return found.version
    } catch {
      // Not there: try the next one.
    }
  }
  return '0.0.0'
}

export const VERSION: string = find()
