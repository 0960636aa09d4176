/** The file of `intendant attention --follow --state`: which calls somebody was told of, so that a restart does not tell them again. */
import { isDeepStrictEqual } from 'node:util'
import type { Call } from './attention-calls.ts'
import { CliFailure } from './exit.ts'
import { keep, keptIn } from './kept-file.ts'

const VERSION = 1

/** What the reading was narrowed to: a call outside of it has not ended only because it is not listed. */
export interface AttentionFilter {
  readonly project?: string
  readonly reason?: readonly string[]
}

/** The calls in the file; none if it does not exist. Throws CliFailure if it is another kind of file, or of another filter. */
export function toldIn(file: string, filter: AttentionFilter): readonly Call[] {
  const text = keptIn(file)
  if (text === undefined) return []
  const content = contentOf(text)
  if (content === undefined)
    throw new CliFailure(`${file} is no file of attention --state. Name another, or remove it.`)
  if (isDeepStrictEqual(content.filter, plain(filter))) return content.told
  throw new CliFailure(
    `${file} belongs to other filters (${JSON.stringify(content.filter)}). Name another, or remove it: then all that needs a person now is told again.`,
  )
}

/** Throws CliFailure. */
export function keepTold(file: string, filter: AttentionFilter, told: readonly Call[]): void {
  keep(file, `${JSON.stringify({ version: VERSION, filter, told })}\n`)
}

function contentOf(text: string): { readonly filter: unknown; readonly told: readonly Call[] } | undefined {
  try {
    const { version, filter, told } = JSON.parse(text)
    return version === VERSION && Array.isArray(told) ? { filter, told } : undefined
  } catch {
    return undefined
  }
}

/** As it is in the file: without absent members. */
function plain(filter: AttentionFilter): unknown {
  return JSON.parse(JSON.stringify(filter))
}
