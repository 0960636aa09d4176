import { flat } from './flat.ts'

/**
 * JSON texts of objects that never change once created (what was asked for, and by whom): serialized once for the
 * actor's record, the log and every answer, and kept as long as the object is referenced.
 */
const texts = new WeakMap<object, string>()

export function cachedJson(value: object): string {
  let text = texts.get(value)
  if (text === undefined) {
    text = flat(JSON.stringify(value))
    texts.set(value, text)
  }
  return text
}
