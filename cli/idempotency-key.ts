/** `--idempotency-key` of commands that make something: what is said twice under one key is made once. */
import type { Answer } from '../engine/client.ts'

/** The option; the help says what is made once, such as `Asking twice with one key makes one item.` */
export const keyOption = (help: string) => ['--idempotency-key <key>', help] as const

/** The request headers that carry the key, if one was given. */
export function keyHeaders({ idempotencyKey }: { readonly idempotencyKey?: string }): Record<string, string> {
  return idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
}

/** The key, or the body, had made it before. */
export function isReplay({ headers }: Pick<Answer, 'headers'>): boolean {
  return headers.get('idempotent-replay') === 'true'
}
