/** Unpacks the homes of earlier versions that are kept here. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { openEnvironments } from '../../storage/home/home-environments.ts'

const HOMES = resolve('test/upgrade/homes')

/** Oldest first. */
export const folders = readdirSync(HOMES, { withFileTypes: true })
  .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  .sort()

export interface Expected {
  readonly lastSequence: number
  readonly admin: string
  readonly runner: string
  readonly requests: Readonly<Record<string, string>>
  readonly documents: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export const unpack = (folder: string, home: string): Expected => unpackFrom(join(HOMES, folder), home)

export function unpackFrom(folder: string, home: string): Expected {
  for (const part of ['log', 'view']) {
    mkdirSync(join(home, part), { recursive: true })
    for (const name of readdirSync(join(folder, part)))
      writeFileSync(join(home, part, name.replace(/\.gz$/, '')), gunzipSync(readFileSync(join(folder, part, name))))
  }
  const expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Expected
  writeFileSync(join(home, 'admin.token'), `${expected.admin}\n`)
  return expected
}

export async function schemaOf(home: string): Promise<string | undefined> {
  const { log, close } = await openEnvironments(home, () => {}, { readOnly: true })
  const schema = log.head.get('schema')
  await close()
  return schema
}
