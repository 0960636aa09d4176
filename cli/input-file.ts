/** Files that a command reads, `-` for standard input. All commands report their faults in the same words. */
import { readFileSync } from 'node:fs'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'

const STANDARD_INPUT = 0

/** The whole text. Throws CliFailure. */
export function inputText(file: string): string {
  try {
    return readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8')
  } catch (cause) {
    throw new CliFailure(`${nameOf(file)} cannot be read: ${(cause as Error).message}.`, EXIT.usage, cause)
  }
}

/** The JSON object in the file. `command` is the one whose help describes its form. Throws CliFailure. */
export function inputObject(file: string, command: string): Document {
  const text = inputText(file)
  const help = `See ${command} --help for its form.`
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new CliFailure(`${nameOf(file)} is not JSON: ${(cause as Error).message}. ${help}`, EXIT.usage, cause)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new CliFailure(`${nameOf(file)} does not hold a JSON object. ${help}`)
}

/** As messages call it. */
export function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file
}
