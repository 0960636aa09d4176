/** `--idempotency-key` of commands that create something: two requests with one key create one entity. */
import { InvalidArgumentError } from 'commander'
import type { Answer } from '../engine/client.ts'
import { HEADER_KEY, IDEMPOTENCY_KEY_LENGTH_MAX } from '../machines/documents/fields.ts'

/** The option; the help says what is created once, such as `Repeating it with the same key creates no second item.` */
export const keyOption = (help: string) => ['--idempotency-key <key>', help, key] as const

/** An empty key, from a variable that is not set, would make a repeated command create a second entity. */
function key(text: string): string {
  if (HEADER_KEY.test(text) && text.length <= IDEMPOTENCY_KEY_LENGTH_MAX) return text
  throw new InvalidArgumentError(`1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters are expected.`)
}

/** The request headers with the key, if one was given. */
export function keyHeaders({ idempotencyKey }: { readonly idempotencyKey?: string }): Record<string, string> {
  return idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
}

/** Whether the entity had been created before with the key or the body. */
export function isReplay({ headers }: Pick<Answer, 'headers'>): boolean {
  return headers.get('idempotent-replay') === 'true'
}
