import { flat } from './flat.ts'

/**
 * JSON texts of objects that never change once they are made (what was asked for, and by whom): written once for the
 * actor's record, the log and every answer, and kept for as long as somebody has the object in hand.
 */
const texts = new WeakMap<object, string>()

export function lastingText(value: object): string {
  let text = texts.get(value)
  if (text === undefined) {
    text = flat(JSON.stringify(value))
    texts.set(value, text)
  }
  return text
}
