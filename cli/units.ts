/** Durations, sizes and counts as people write them. A duration always names its unit: 30 could be anything. */

const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SIZE_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

/** Longest duration accepted: a hundred years. */
export const DURATION_MS_MAX = 36_525 * 86_400_000

/**
 * Longest time that this process itself waits: a Node.js timer holds at most 2^31 - 1 ms, and fires at once beyond
 * that.
 */
export const TIMER_MS_MAX = 24 * 86_400_000

/** Milliseconds; undefined if the text is not a duration. */
export function readDuration(text: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim()) ?? []
  if (number === undefined || unit === undefined) return undefined
  return Math.round(Number(number) * DURATION_UNITS[unit]!)
}

/** Bytes; undefined if the text is not a size. */
export function readSize(text: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text.trim()) ?? []
  const factor = unit === undefined ? undefined : SIZE_UNITS[unit]
  if (number === undefined || factor === undefined) return undefined
  const bytes = Math.round(Number(number) * factor)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** A whole number within the range; undefined if the text is not one. */
export function readInteger(text: string, least: number, most: number): number | undefined {
  if (!/^[+-]?\d{1,15}$/.test(text.trim())) return undefined
  const value = Number(text)
  return value >= least && value <= most ? value : undefined
}

/** The duration in its largest whole unit. */
export function showDuration(ms: number): string {
  const unit = ['d', 'h', 'm', 's'].find((name) => ms > 0 && ms % DURATION_UNITS[name]! === 0) ?? 'ms'
  return `${ms / DURATION_UNITS[unit]!}${unit}`
}

/** The size in its largest whole unit. */
export function showSize(bytes: number): string {
  const unit = ['TiB', 'GiB', 'MiB', 'KiB'].find((name) => bytes > 0 && bytes % SIZE_UNITS[name]! === 0) ?? ''
  return `${bytes / SIZE_UNITS[unit]!}${unit}`
}

/** The size to some three digits, for people. */
export function roundedSize(bytes: number): string {
  if (bytes < 2 ** 10) return `${bytes} B`
  if (bytes < 2 ** 20) return `${Math.round(bytes / 2 ** 10)} KiB`
  return bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`
}

/** `1 record`, `2 records`, `3 hypotheses`. */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
