/** Ids on standard input, as the lists print them with `--ids` or `--json`: one on each line, or JSON. */
import { ID_DIGITS } from '../machines/ids.ts'
import { idOf } from './attention-page.ts'
import { BATCH_MAX } from './batch.ts'
import { CliFailure } from './exit.ts'
import type { Kind } from './ids.ts'
import { inputText } from './input-file.ts'
import { cut, safe } from './print.ts'
import { counted } from './units.ts'

/** Longest text of standard input that a message shows. */
const SHOWN_COLUMNS = 60

/**
 * Each once, in their order. Throws CliFailure, before anything is done, if one of them cannot be an id: what is piped
 * comes from another program, so nothing is abbreviated.
 */
export function pipedIds(kind: Kind): readonly string[] {
  const ids = [...new Set(idsIn(inputText('-')))]
  if (ids.length === 0) throw new CliFailure('standard input names nothing: one id on each line is expected.')
  if (ids.length > BATCH_MAX)
    throw new CliFailure(`standard input names ${counted(ids.length, 'id')}: at most ${BATCH_MAX} are taken at once.`)
  const wrong = ids.find((id) => !isWhole(kind, id))
  if (wrong === undefined) return ids
  const expected = kind.prefix === undefined ? 'an id' : `a whole id of ${kind.noun} (${kind.prefix}...)`
  throw new CliFailure(
    `standard input names "${cut(safe(wrong), SHOWN_COLUMNS)}", but ${expected} is expected on each line. Nothing was done.`,
  )
}

function isWhole({ prefix }: Kind, id: string): boolean {
  if (prefix === undefined) return /^[\w.-]+$/.test(id)
  return id.startsWith(prefix) && new RegExp(`^[0-9a-f]{${ID_DIGITS}}$`).test(id.slice(prefix.length))
}

function idsIn(text: string): readonly string[] {
  const start = text.trimStart()[0]
  const isJson = start === '[' || start === '{'
  const lines = text.split('\n').map((line) => line.trim())
  const said = lines.filter((line) => line !== '')
  if (!isJson) return said
  return whole(text) ?? said.flatMap((line) => whole(line) ?? [line])
}

/** The ids in one JSON text; undefined if it is none. */
function whole(text: string): readonly string[] | undefined {
  try {
    const value = JSON.parse(text)
    return [value].flat().map((one) => (typeof one === 'object' && one !== null ? idOf(one) : String(one)))
  } catch {
    return undefined
  }
}
