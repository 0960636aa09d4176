/** The part of a structured logger (pino's shape) that the runtime needs; the process gives the real one. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const silentLogger: Logger = { info: () => {}, warn: () => {}, error: () => {} }
