import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The path of a file in `docs/`, whether the tests run from the repository or from elsewhere. */
export function documentedScript(name: string): string {
  const paths = [`docs/${name}`, fileURLToPath(new URL(`../../docs/${name}`, import.meta.url))]
  return paths.find((path) => existsSync(path))!
}
