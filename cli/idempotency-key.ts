/** `--idempotency-key` of commands that make something: what is said twice under one key is made once. */
import { InvalidArgumentError } from 'commander'
import type { Answer } from '../engine/client.ts'
import { HEADER_KEY, IDEMPOTENCY_KEY_LENGTH_MAX } from '../machines/documents/fields.ts'

/** The option; the help says what is made once, such as `Asking twice with one key makes one item.` */
export const keyOption = (help: string) => ['--idempotency-key <key>', help, key] as const

/** An empty one, of a variable that was not set, would make a second thing of what is said again. */
function key(text: string): string {
  if (HEADER_KEY.test(text) && text.length <= IDEMPOTENCY_KEY_LENGTH_MAX) return text
  throw new InvalidArgumentError(`1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters are expected.`)
}

/** The request headers that carry the key, if one was given. */
export function keyHeaders({ idempotencyKey }: { readonly idempotencyKey?: string }): Record<string, string> {
  return idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
}

/** The key, or the body, had made it before. */
export function isReplay({ headers }: Pick<Answer, 'headers'>): boolean {
  return headers.get('idempotent-replay') === 'true'
}
