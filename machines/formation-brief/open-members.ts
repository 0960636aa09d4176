/** Reads members of open records and overlays as the type they should have, whatever they hold. */

/** A member that should be a text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A member that should be a list of texts; other values in it are shown as JSON. */
export function textsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return value === undefined || value === null || value === '' ? [] : [shown(value)]
  return value.map(shown).filter((text) => text !== '')
}

/** A member that should be a list of objects. */
export function objectsOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : []
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
